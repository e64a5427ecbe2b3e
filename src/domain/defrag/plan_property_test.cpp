// Goal: whatever the cluster, a plan is of the fewest moves and each of them can be made. Method:
// random clusters, against all sequences of moves of a model that is as simple as can be.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "domain/defrag/plan.hpp"
#include "testing/builders/defrag_scene.hpp"

namespace tessera::defrag {
namespace {

// What is on each card, and the moves of it that are left: what a plan must agree with, written
// down as simply as can be.
struct Model {
    struct Pod {
        int card;
        int gib;
        bool movable;
    };
    std::vector<int> sizes;  // of the cards
    std::vector<Pod> pods;

    [[nodiscard]] int free(int card) const {
        int held = 0;
        for (const Pod& pod : pods)
            held += pod.card == card ? pod.gib : 0;
        return sizes[static_cast<std::size_t>(card)] - held;
    }
    [[nodiscard]] int count(const std::function<bool(int)>& is) const {
        int out = 0;
        for (int card = 0; card < static_cast<int>(sizes.size()); ++card)
            out += is(card) ? 1 : 0;
        return out;
    }
    [[nodiscard]] int empty_cards() const {
        return count([this](int card) {
            return std::ranges::none_of(pods, [&](const Pod& pod) { return pod.card == card; });
        });
    }
    // The fewest moves to `done`, at most `most`; nothing where there are none.
    std::optional<int> fewest(const std::function<bool(const Model&)>& done, int most) const {
        for (int length = 0; length <= most; ++length) {
            if (reaches(done, length)) return length;
        }
        return std::nullopt;
    }
    bool reaches(const std::function<bool(const Model&)>& done, int left) const {
        if (done(*this)) return true;
        if (left == 0) return false;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            if (!pods[i].movable) continue;
            const int card = best_fit(pods[i].gib);
            if (card < 0 || card == pods[i].card) continue;
            Model after = *this;
            after.pods[i] = {card, pods[i].gib, false};
            if (after.reaches(done, left - 1)) return true;
        }
        return false;
    }
    // -1: there is no room.
    [[nodiscard]] int best_fit(int gib) const {
        int best = -1;
        for (int card = 0; card < static_cast<int>(sizes.size()); ++card) {
            if (free(card) >= gib && (best < 0 || free(card) < free(best))) best = card;
        }
        return best;
    }
};

// Evenly, whatever the size of the case: small ones have nothing to move.
int pick(int from, int to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

// A cluster of one card per node, and the same as a model.
struct Both {
    Scene scene;
    Model model;
};

Both random_both() {
    Both out;
    const int cards = pick(2, 6);
    for (int i = 0; i < cards; ++i) {
        const int size = *rc::gen::element(4, 6, 8);
        out.scene.node("n" + std::to_string(i), 1, size);
        out.model.sizes.push_back(size);
    }
    const int pods = pick(2, 9);
    for (int i = 0; i < pods; ++i) {
        const int card = pick(0, cards);
        const int gib = pick(1, 5);
        if (out.model.free(card) < gib) continue;
        const bool movable = pick(0, 6) > 0;
        out.scene.pod("p" + std::to_string(i), "n" + std::to_string(card), {0}, gib, movable);
        out.model.pods.push_back({card, gib, movable});
    }
    return out;
}

// Carries the plan out on paper: each pod is where the plan says, fits where it says, is movable,
// and moves once.
void carry_out(const Scene& scene, const Plan& plan, std::vector<std::vector<Card>>& cards) {
    const Cluster cluster = scene.cluster();
    std::set<PodUid> left;
    for (const MovablePod& pod : cluster.movable)
        left.insert(pod.ask.uid);
    for (const auto& node : cluster.nodes)
        cards.push_back(node->cards);
    for (const Move& move : plan.moves) {
        RC_ASSERT(left.erase(move.uid) == 1U);
        const auto at = [&](const NodeName& name) {
            return std::ranges::find(cluster.nodes, name,
                                     [](const auto& n) { return n->inventory.name; }) -
                   cluster.nodes.begin();
        };
        const auto from = static_cast<std::size_t>(at(move.node));
        const auto to = static_cast<std::size_t>(at(move.to));
        const auto tenant = std::ranges::find(cluster.nodes[from]->tenants, move.uid,
                                              [](const TenantPtr& of) { return of->uid; });
        RC_ASSERT(tenant != cluster.nodes[from]->tenants.end());
        const auto each = Bytes{move.size.count / static_cast<std::int64_t>(move.cards.size())};
        RC_ASSERT(move.cards.size() == move.to_cards.size());
        for (const int card : move.to_cards) {
            Card& now = cards[to][static_cast<std::size_t>(card)];
            RC_ASSERT(each <= now.free());
            RC_ASSERT(from != to || std::ranges::find(move.cards, card) == move.cards.end());
            now.held += each;
            ++now.holders;
        }
        count_holds(**tenant, cluster.nodes[from]->inventory.gpus, cards[from], -1);
    }
}

RC_GTEST_PROP(DefragPlanProperty, FreesCardsByTheFewestMoves, ()) {
    const Both both = random_both();
    const int more = pick(1, 3);
    const int wanted = both.model.empty_cards() + more;
    const auto least =
        both.model.fewest([&](const Model& m) { return m.empty_cards() >= wanted; }, 4);
    const auto answer = make_plan(both.scene.cluster(), FreeCards{more});
    RC_CLASSIFY(least.has_value() && *least > 0, "moves");
    RC_CLASSIFY(least.has_value() && *least > 1, "several moves");
    if (const auto* plan = std::get_if<Plan>(&answer)) {
        std::vector<std::vector<Card>> cards;
        carry_out(both.scene, *plan, cards);
        RC_ASSERT(plan->fewest);
        RC_ASSERT(plan->after.free_cards >= wanted);
        RC_ASSERT((least.has_value() ? plan->moves.size() == static_cast<std::size_t>(*least)
                                     : plan->moves.size() > 4U));
        int free = 0;
        for (const auto& node : cards)
            free += static_cast<int>(std::ranges::count(node, 0, &Card::holders));
        RC_ASSERT(free == plan->after.free_cards);
        // With too little effort more moves may be found, which are not called the fewest.
        for (std::size_t steps = 1; steps < 60; ++steps) {
            const auto hasty =
                make_plan(both.scene.cluster(), FreeCards{more}, {.steps_per_length = steps});
            const auto* found = std::get_if<Plan>(&hasty);
            RC_ASSERT((!found || !found->fewest || found->moves.size() == plan->moves.size()));
        }
    } else {
        RC_ASSERT(!least.has_value());
    }
}

RC_GTEST_PROP(DefragPlanProperty, MakesRoomByTheFewestMoves, ()) {
    const Both both = random_both();
    const int gib = pick(4, 9);
    const auto least = both.model.fewest(
        [&](const Model& m) { return m.count([&](int card) { return m.free(card) >= gib; }) > 0; },
        4);
    const auto answer = make_plan(both.scene.cluster(), room_for(build::native(gibibytes(gib))));
    RC_CLASSIFY(least.has_value() && *least > 0, "moves");
    RC_CLASSIFY(least.has_value() && *least > 1, "several moves");
    if (const auto* plan = std::get_if<Plan>(&answer)) {
        std::vector<std::vector<Card>> cards;
        carry_out(both.scene, *plan, cards);
        RC_ASSERT(plan->fewest);
        RC_ASSERT(plan->after.largest >= gibibytes(gib));
        RC_ASSERT((least.has_value() ? plan->moves.size() == static_cast<std::size_t>(*least)
                                     : plan->moves.size() > 4U));
    } else {
        RC_ASSERT(!least.has_value());
    }
}

// Goal: larger nodes and pods of several cards: what is planned can be done, and done the same way
// twice.
RC_GTEST_PROP(DefragPlanProperty, MovesAreFeasibleOneAfterTheOther, ()) {
    Scene scene;
    std::map<std::pair<int, int>, int> free;
    const int nodes = pick(1, 5);
    for (int i = 0; i < nodes; ++i) {
        scene.node("n" + std::to_string(i), 4, 8);
        for (int card = 0; card < 4; ++card)
            free[{i, card}] = 8;
    }
    const int pods = pick(0, 24);
    for (int i = 0; i < pods; ++i) {
        const int node = pick(0, nodes);
        const int gib = pick(1, 6);
        const auto wanted = static_cast<std::size_t>(*rc::gen::element(1, 1, 1, 2, 3));
        std::vector<int> cards;
        for (int card = 0; card < 4 && cards.size() < wanted; ++card) {
            if (free[{node, card}] >= gib) cards.push_back(card);
        }
        if (cards.size() < wanted) continue;
        for (const int card : cards)
            free[{node, card}] -= gib;
        scene.pod("p" + std::to_string(i), "n" + std::to_string(node), cards, gib, pick(0, 4) > 0);
    }
    const Goal goal = *rc::gen::arbitrary<bool>() ? Goal(FreeCards{pick(1, 4)})
                                                  : Goal(room_for(build::whole(pick(1, 5))));
    const Effort little{.steps = 20'000, .steps_per_length = 5'000};
    const auto answer = make_plan(scene.cluster(), goal, little);
    const auto* plan = std::get_if<Plan>(&answer);
    RC_CLASSIFY(plan != nullptr);
    if (plan == nullptr) return;
    std::vector<std::vector<Card>> cards;
    carry_out(scene, *plan, cards);
    if (const auto* wanted = std::get_if<FreeCards>(&goal)) {
        RC_ASSERT(plan->after.free_cards >= plan->before.free_cards + wanted->cards);
    } else {
        const Cluster cluster = scene.cluster();
        Placer placer(std::get<RoomFor>(goal).pod.request);
        bool fits = false;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            Offer offer = cluster.nodes[i]->offer();
            const auto left = free_of(cards[i]);
            offer.cards = cards[i];
            offer.free = left;
            if (placer.try_node(offer) == nullptr) continue;
            fits |= cluster.nodes[i]->inventory.name == plan->fits_on;
        }
        RC_ASSERT(fits);
    }
    const auto again = make_plan(scene.cluster(), goal, little);
    RC_ASSERT(std::get<Plan>(again).moves == plan->moves);
}

}  // namespace
}  // namespace tessera::defrag

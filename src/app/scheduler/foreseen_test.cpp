// Goal: what tessera defrag plans is what the controller would do. Method: random clusters under
// each policy; where the plan says that a pod would go is where filter and bind put it, asked about
// the cluster with the old pod still there, or gone where its controller waits for that, one or the
// other where that is not known, and the moves before it done. At the end there is what was asked
// for.
#include "app/scheduler/foreseen.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/placements.hpp"
#include "domain/defrag/plan.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr int kCardGib = 16;
// Finds nearly all plans of such small clusters; what there is no plan for takes most of the time.
constexpr defrag::Effort kLittle{.steps = 3'000, .steps_per_length = 1'000};

// Evenly, whatever the size of the case: small ones have nothing to move.
int pick(int from, int to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

bool one_in(int many) {
    return pick(0, many) == 0;
}

// Who makes pods, by name, and when.
struct Controls {
    defrag::Owner owner;
    defrag::Replacement made;
};
const std::map<std::string, Controls> kControllers{
    {"web", {{"ReplicaSet", "web", "u-web"}, defrag::Replacement::at_once}},
    {"db", {{"StatefulSet", "db", "u-db"}, defrag::Replacement::once_gone}},
    {"waits", {{"Job", "waits", "u-waits"}, defrag::Replacement::once_gone}},
    {"job", {{"Job", "job", "u-job"}, defrag::Replacement::unknown}},
    {"torch", {{"PyTorchJob", "torch", "u-torch"}, defrag::Replacement::unknown}},
};

// Nodes of cards that are linked in pairs or not at all, now and then out of order; pods of one
// card or several, some of which wait, some of these nominated.
class Played {
  public:
    Played() {
        snapshot_.waiting_jobs = {"u-waits"};
        const int nodes = pick(2, 6);
        for (int i = 0; i < nodes; ++i) {
            add_node("n" + std::to_string(i));
            const int pods = pick(2, 9);
            for (int pod = 0; pod < pods; ++pod)
                add_holder(snapshot_.nodes.back());
        }
        snapshot_.others.push_back(build::pod("hog", {}));
        snapshot_.others.back().node = snapshot_.nodes.front().name;
        snapshot_.others.back().host = {1'000, gibibytes(1)};
        const int nominees = std::max(0, pick(-1, 4));
        for (int i = 0; i < nominees; ++i) {
            PodFacts& pod = add_waiting(*rc::gen::element(7, 10, 12, kCardGib));
            pod.nominated = snapshot_.nodes[static_cast<std::size_t>(pick(0, nodes))].name;
        }
    }

    [[nodiscard]] const defrag::Snapshot& snapshot() const { return snapshot_; }
    [[nodiscard]] const PodFacts& pod(const PodUid& uid) const {
        return *std::ranges::find(snapshot_.pods, uid, &PodFacts::uid);
    }
    [[nodiscard]] defrag::Replacement made(const PodUid& uid) const {
        const auto pod = std::ranges::find(snapshot_.states, uid, &defrag::PodState::uid);
        return kControllers.at(pod->owner->name).made;
    }
    // A new one, too large for most places.
    PodName wait() { return add_waiting(*rc::gen::element(12, 14, kCardGib)).name; }

  private:
    void add_node(const std::string& name) {
        NodeInventory node = build::node(name, pick(1, 5), gibibytes(kCardGib));
        node.host = {pick(3, 12) * 1'000, gibibytes(64)};
        const bool is_linked = one_in(2);
        for (std::size_t card = 0; card < node.gpus.size(); ++card) {
            Gpu& gpu = node.gpus[card];
            if (one_in(10)) gpu.condition = GpuCondition::unhealthy;
            if (!is_linked || (card ^ 1U) >= node.gpus.size()) continue;
            gpu.links.nvlink = std::uint64_t{1} << (card ^ 1U);
        }
        left_.assign(node.gpus.size(), kCardGib);
        snapshot_.traits.push_back({.name = node.name});
        snapshot_.nodes.push_back(std::move(node));
    }
    PodFacts any_pod(int gib, int cards) {
        PodFacts pod = build::pod(
            "p" + std::to_string(snapshot_.pods.size()),
            gib == kCardGib ? build::whole(cards) : build::native(gibibytes(gib), cards));
        pod.host = {100 * pick(1, 9), gibibytes(1)};
        pod.created = "2026-01-01T00:00:" + std::to_string(10 + snapshot_.pods.size() % 50);
        pod.policy = *rc::gen::element<std::string>("", "", "binpack", "spread", "fgd");
        pod.priority = pick(0, 3);
        if (cards > 1 && one_in(3)) pod.card_rules.links = "nvlink";
        if (one_in(6)) pod.card_rules.apart = "replicas";
        return pod;
    }
    // On the node that was made last, where it has the room.
    void add_holder(const NodeInventory& node) {
        const int gib = *rc::gen::element(2, 3, 5, 8, 9, kCardGib);
        const auto wanted = static_cast<std::size_t>(*rc::gen::element(1, 1, 1, 2));
        std::vector<std::size_t> cards;
        const auto first = static_cast<std::size_t>(pick(0, static_cast<int>(left_.size())));
        for (std::size_t i = 0; i < left_.size() && cards.size() < wanted; ++i) {
            const std::size_t card = (first + i) % left_.size();
            if (left_[card] >= gib) cards.push_back(card);
        }
        if (cards.size() < wanted) return;
        std::ranges::sort(cards);
        PodFacts pod = any_pod(gib, static_cast<int>(wanted));
        std::vector<GpuShare> shares;
        for (const std::size_t card : cards) {
            left_[card] -= gib;
            shares.push_back({.uuid = node.gpus[card].uuid,
                              .index = static_cast<int>(card),
                              .memory = gibibytes(gib),
                              .whole = gib == kCardGib});
        }
        pod = build::bound(pod, build::allocation(pod, node.name.str(), std::move(shares)));
        const auto name =
            *rc::gen::element<std::string>("web", "web", "web", "db", "waits", "job", "torch");
        snapshot_.states.push_back({.uid = pod.uid,
                                    .name = pod.name,
                                    .node = pod.node,
                                    .owner = kControllers.at(name).owner,
                                    .allowed = !one_in(6)});
        snapshot_.pods.push_back(std::move(pod));
    }
    PodFacts& add_waiting(int gib) {
        PodFacts pod = any_pod(gib, *rc::gen::element(1, 1, 2));
        snapshot_.states.push_back({.uid = pod.uid, .name = pod.name});
        snapshot_.pods.push_back(std::move(pod));
        return snapshot_.pods.back();
    }

    defrag::Snapshot snapshot_;
    std::vector<int> left_;  // GiB, by card of the last node
};

// The controller, as it is now.
class Controller {
  public:
    Controller(const Played& played, const std::string& policy)
        : state_(defrag::state_of(played.snapshot())), placements_(policy) {
        placements_.learn(state_.take_arrivals(), *state_.view());
    }

    void end(const PodUid& uid) { state_.remove_pod(uid); }
    // Nothing where the pod finds no room.
    std::optional<Allocation> place(const PodFacts& pod) {
        const PodAsk ask = build::ask(pod);
        const auto view = state_.view();
        std::vector<std::uint32_t> positions;
        for (const auto& node : view->nodes()) {
            if (pod.host.cpu_milli <= node->load.cpu_milli)
                positions.push_back(view->position(node->inventory.name.str()));
        }
        const auto rater = placements_.rater_of(ask);
        const auto best = best_node(*view, positions, ask, rater.get());
        if (!best) return std::nullopt;
        const auto made = state_.reserve(ask, view->row(*best).node->inventory.name, rater.get());
        RC_ASSERT(made.has_value());
        state_.set_pod(build::bound(pod, made->allocation));
        return made->allocation;
    }
    // The pod's controller makes another in its place.
    Allocation place_successor(PodFacts pod) {
        pod.uid = PodUid(pod.uid.str() + "-new");
        pod.name.name += "-new";
        pod.node = {};
        pod.allocation.reset();
        const auto placed = place(pod);
        RC_ASSERT(placed.has_value());
        return *placed;
    }
    [[nodiscard]] int free_cards() const {
        return defrag::room_of(
                   defrag::Cluster{.nodes = state_.view()->nodes(), .closed = {}, .movable = {}})
            .free_cards;
    }

  private:
    mutable ClusterState state_;
    Placements placements_;
};

std::vector<int> cards_of(const Allocation& allocation) {
    std::vector<int> out;
    for (const GpuShare& share : allocation.containers.front().gpus)
        out.push_back(share.index);
    std::ranges::sort(out);
    return out;
}

void carry_out(const Played& played, const defrag::Plan& plan, Controller& controller) {
    for (const defrag::Move& move : plan.moves) {
        const defrag::Replacement made = played.made(move.uid);
        const bool is_made_at_once =
            made == defrag::Replacement::unknown ? one_in(2) : made == defrag::Replacement::at_once;
        if (!is_made_at_once) controller.end(move.uid);
        const Allocation at = controller.place_successor(played.pod(move.uid));
        RC_ASSERT(at.node == move.to);
        RC_ASSERT(cards_of(at) == move.to_cards);
        if (is_made_at_once) controller.end(move.uid);
    }
}

// How often a plan with moves was found, and of what clusters: a test that finds none says nothing.
struct Planned {
    int cards = 0;
    int room = 0;
    int beside_nominees = 0;
    int once_gone = 0;
    int at_any_time = 0;
    int of_several_cards = 0;

    void count(const Played& played, const defrag::Plan& plan, const defrag::Goal& goal) {
        if (plan.moves.empty()) return;
        ++(std::holds_alternative<defrag::RoomFor>(goal) ? room : cards);
        const auto& pods = played.snapshot().pods;
        const auto any_move = [&](const auto& is) { return std::ranges::any_of(plan.moves, is); };
        beside_nominees += std::ranges::any_of(pods, [&](const PodFacts& pod) {
            return any_move([&](const defrag::Move& move) {
                return move.node == pod.nominated || move.to == pod.nominated;
            });
        });
        const auto any_made = [&](defrag::Replacement made) {
            return any_move(
                [&](const defrag::Move& move) { return played.made(move.uid) == made; });
        };
        once_gone += any_made(defrag::Replacement::once_gone);
        at_any_time += any_made(defrag::Replacement::unknown);
        of_several_cards +=
            any_move([](const defrag::Move& move) { return move.to_cards.size() > 1; });
    }
};

class ForeseenProperty : public testing::TestWithParam<const char*> {};

TEST_P(ForeseenProperty, ThePlanIsWhatTheControllerDoes) {
    const std::string policy = GetParam();
    Planned planned;
    const bool holds = rc::check(policy, [&] {
        Played played;
        const bool is_for_pod = one_in(2);
        const PodName waits = is_for_pod ? played.wait() : PodName();
        const defrag::Goal goal =
            is_for_pod ? defrag::Goal(*defrag::find_waiting(played.snapshot(), waits))
                       : defrag::Goal(defrag::FreeCards{pick(1, 3)});
        const auto raters = foreseen_raters(played.snapshot(), policy);
        const auto answer =
            defrag::make_plan(defrag::cluster_of(played.snapshot(), raters), goal, kLittle);
        const auto* plan = std::get_if<defrag::Plan>(&answer);
        if (plan == nullptr) return;
        planned.count(played, *plan, goal);
        Controller controller(played, policy);
        const int before = controller.free_cards();
        RC_ASSERT(before == plan->before.free_cards || is_for_pod);
        carry_out(played, *plan, controller);
        if (is_for_pod) {
            const auto pod = std::ranges::find(played.snapshot().pods, waits, &PodFacts::name);
            RC_ASSERT(controller.place(*pod).has_value());
        } else {
            RC_ASSERT(controller.free_cards() == plan->after.free_cards);
            RC_ASSERT(plan->after.free_cards >= before + std::get<defrag::FreeCards>(goal).cards);
        }
    });
    EXPECT_TRUE(holds);
    EXPECT_GT(planned.cards, 0);
    EXPECT_GT(planned.room, 0);
    EXPECT_GT(planned.beside_nominees, 0);
    EXPECT_GT(planned.once_gone, 0);
    EXPECT_GT(planned.at_any_time, 0);
    EXPECT_GT(planned.of_several_cards, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, ForeseenProperty,
                         testing::Values("binpack", "spread", "best-fit", "dot-product", "packing",
                                         "clustering", "fgd", "expected-fill"),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::erase(name, '-');
                             return name;
                         });

// Goal: a pod whose place is drawn by lot is not moved, and that is said.
TEST(Foreseen, ByLotNobodyMoves) {
    defrag::Snapshot snapshot{.nodes = {build::node("a", 2, gibibytes(16))}};
    PodFacts pod = build::pod("x", build::native(gibibytes(4)));
    pod.policy = "random";
    pod = build::bound(
        pod,
        build::allocation(
            pod, "a", {{.uuid = build::gpu("a", 0, gibibytes(16)).uuid, .memory = gibibytes(4)}}));
    snapshot.pods.push_back(pod);
    snapshot.states.push_back({.uid = pod.uid,
                               .name = pod.name,
                               .node = pod.node,
                               .owner = defrag::Owner{"ReplicaSet", "s", "u"},
                               .allowed = true});
    const auto raters = foreseen_raters(snapshot, "binpack");
    EXPECT_TRUE(defrag::cluster_of(snapshot, raters).movable.empty());
    EXPECT_EQ(
        defrag::stays_of(snapshot, raters),
        (std::map<std::string, int>{{"a policy that draws by lot where its new pod goes", 1}}));
}

}  // namespace
}  // namespace tessera

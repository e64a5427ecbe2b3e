// The bound of a snapshot, with the solver that the program has, against all ways to place its
// pods.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "adapters/lp/clp.hpp"
#include "app/sim/bounds.hpp"
#include "app/sim/live_bound.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-6;

SnapshotNode node(const std::string& name, std::vector<std::pair<const char*, int>> cards) {
    SnapshotNode out{.name = name, .host = {8'000, gibibytes(64)}};
    for (const auto& [model, gib] : cards) {
        out.cards.push_back({.model = model,
                             .memory = gibibytes(gib),
                             .uuid = GpuUuid(name + "-" + std::to_string(out.cards.size()))});
    }
    return out;
}

SnapshotPod pod(const std::string& name, int gib, int gpus = 1, CardRuleTexts rules = {}) {
    SnapshotPod out{.name = {"s", name},
                    .created = name,
                    .card_rules = std::move(rules),
                    .asks = {{.gpus = gpus}}};
    if (gib > 0) out.asks[0].memory = {MemoryAsk::Kind::bytes, gibibytes(gib).count};
    return out;
}

BoundRun bound_of(const ClusterSnapshot& snapshot, std::vector<std::string> policies = {}) {
    const auto cluster = live_cluster(snapshot);
    EXPECT_TRUE(cluster) << cluster.error().text;
    auto subject = live_bound(snapshot, *cluster);
    EXPECT_TRUE(subject) << subject.error().text;
    const BoundOptions options{.subject = *std::move(subject),
                               .arrivals = {kAllArrivals},
                               .policies = std::move(policies),
                               .all_placed = true};
    const auto read_nothing = [](const std::string& path) -> Result<std::string> {
        return fail(Code::not_found, path);
    };
    const auto clp = [](std::span<const LpRow> rows) { return make_clp(rows); };
    const auto runs = find_bounds(options, read_nothing, clp, [](std::size_t, std::size_t) {});
    EXPECT_TRUE(runs) << runs.error().text;
    return runs->front();
}

// All ways to place the pods on nodes without them. What is on a card is in thousandths of that
// card; company and gangs are not looked at.
class Exhaustive {
  public:
    explicit Exhaustive(const ClusterSnapshot& snapshot) : snapshot_(snapshot) {
        for (const SnapshotNode& node : snapshot.nodes) {
            hosts_.push_back(node.host);
            free_.emplace_back();
            for (const SnapshotCard& card : node.cards)
                free_.back().push_back(card.healthy ? kMilliPerCard : 0);
        }
        place_pod(0, 0, 0);
    }

    [[nodiscard]] int most_milli() const { return most_milli_; }
    [[nodiscard]] bool can_place_all() const { return can_place_all_; }

  private:
    void place_pod(std::size_t at, int milli, int dropped) {
        if (at == snapshot_.pods.size()) {
            most_milli_ = std::max(most_milli_, milli);
            can_place_all_ = can_place_all_ || dropped == 0;
            return;
        }
        const SnapshotPod& pod = snapshot_.pods[at];
        for (std::size_t node = 0; node < hosts_.size(); ++node) {
            const HostAsk before = hosts_[node];
            if (pod.host.cpu_milli > before.cpu_milli || pod.host.memory > before.memory) continue;
            hosts_[node].cpu_milli -= pod.host.cpu_milli;
            hosts_[node].memory = hosts_[node].memory - pod.host.memory;
            place_container(at, 0, node, milli, dropped);
            hosts_[node] = before;
        }
        place_pod(at + 1, milli, dropped + 1);
    }

    void place_container(std::size_t at, std::size_t container, std::size_t node, int milli,
                         int dropped) {
        const SnapshotPod& pod = snapshot_.pods[at];
        if (container == pod.asks.size()) return place_pod(at + 1, milli, dropped);
        const auto count = static_cast<unsigned>(free_[node].size());
        for (unsigned cards = 0; cards < 1U << count; ++cards) {
            if (std::popcount(cards) != pod.asks[container].gpus) continue;
            const std::vector<int> before = free_[node];
            int held = 0;
            bool fits = true;
            for (unsigned card = 0; card < count && fits; ++card) {
                if ((cards >> card & 1U) == 0) continue;
                const int share = share_on(pod, pod.asks[container], node, card);
                fits = share >= 0 && share <= free_[node][card];
                if (!fits) break;
                free_[node][card] -= share;
                held += share;
            }
            if (fits) place_container(at, container + 1, node, milli + held, dropped);
            free_[node] = before;
        }
    }

    // -1: never.
    [[nodiscard]] int share_on(const SnapshotPod& pod, const SnapshotAsk& ask, std::size_t node,
                               std::size_t card) const {
        const SnapshotCard& on = snapshot_.nodes[node].cards[card];
        const auto rules = parse_card_rules(pod.card_rules, pod.name.space);
        const Bytes memory = bytes_of(ask.memory, snapshot_.nodes[node].unit, on.memory);
        const bool is_for_it =
            memory <= on.memory && admits_model(*rules, on.model) && admits_uuid(*rules, on.uuid);
        return is_for_it ? milli_of(memory, ask.cores, on.memory) : -1;
    }

    const ClusterSnapshot& snapshot_;
    std::vector<HostAsk> hosts_;
    std::vector<std::vector<int>> free_;
    int most_milli_ = 0;
    bool can_place_all_ = false;
};

// Goal: clusters whose bound is known.
TEST(BoundSnapshot, IsKnown) {
    ClusterSnapshot snapshot{.nodes = {node("m", {{"A100", 80}}), node("n", {{"T4", 16}})},
                             .pods = {pod("a", 40), pod("b", 40), pod("c", 40)}};
    EXPECT_NEAR(bound_of(snapshot).bound, 50, kRounding) << "none fits the T4";
    snapshot.pods.push_back(pod("d", 16));
    EXPECT_NEAR(bound_of(snapshot).bound, 100, kRounding);
    snapshot.pods = {pod("a", 8), pod("b", 8, 1, {.models = "A100"})};
    EXPECT_NEAR(bound_of(snapshot).bound, (500 + 100) / 20.0, kRounding);
    snapshot.pods = {pod("a", 8, 1, {.uuids = "m-0"}), pod("b", 0, 1, {.models = "H100"})};
    EXPECT_NEAR(bound_of(snapshot).bound, 100 / 20.0, kRounding);
    snapshot.nodes = {node("m", {{"A100", 80}, {"T4", 16}})};
    snapshot.pods = {pod("a", 40), pod("b", 40), pod("c", 40)};
    EXPECT_NEAR(bound_of(snapshot).bound, 50, kRounding);
    snapshot.pods = {pod("a", 0, 2)};
    EXPECT_NEAR(bound_of(snapshot).bound, 100, kRounding);
    EXPECT_NEAR(*bound_of(snapshot).all_placed, 100, kRounding);
}

ClusterSnapshot tiny_snapshot() {
    ClusterSnapshot snapshot;
    const bool is_mixed = *rc::gen::arbitrary<bool>();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        SnapshotNode any = node("n" + std::to_string(i), {});
        any.host.cpu_milli = *rc::gen::inRange(1, 9) * 1'000;
        const std::string model = *rc::gen::element("A", "B");
        const int gib = *rc::gen::element(10, 16);
        for (int card = *rc::gen::inRange(1, 4); card > 0; --card) {
            any.cards.push_back({.model = is_mixed ? *rc::gen::element("A", "B") : model,
                                 .memory = gibibytes(is_mixed ? *rc::gen::element(10, 16) : gib),
                                 .healthy = *rc::gen::inRange(0, 6) > 0,
                                 .uuid = GpuUuid(any.name + "-" + std::to_string(card))});
        }
        snapshot.nodes.push_back(std::move(any));
    }
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        SnapshotPod any = pod("p" + std::to_string(i), *rc::gen::element(0, 2, 4, 5, 7, 12),
                              *rc::gen::element(1, 1, 2),
                              {.models = *rc::gen::element("", "", "A", "!A"),
                               .uuids = *rc::gen::element("", "", "n1-1", "!n1-1"),
                               .apart = *rc::gen::element("", "", "g"),
                               .together = *rc::gen::element("", "", "g")});
        any.asks[0].cores = {*rc::gen::element(0, 0, 35, 60)};
        any.host.cpu_milli = *rc::gen::inRange(0, 4) * 700;
        if (*rc::gen::inRange(0, 6) == 0) any.asks.push_back(any.asks[0]);
        snapshot.pods.push_back(std::move(any));
    }
    return snapshot;
}

// Goal: on tiny clusters, whose cards differ by node or within one, no placement holds more than
// the bound, and no policy's replay more than the best placement; nor is dropping said to be needed
// where all pods can be placed.
RC_GTEST_PROP(BoundSnapshot, BoundsWhatCanBePlaced, ()) {
    const ClusterSnapshot snapshot = tiny_snapshot();
    const auto in_order = std::ranges::any_of(snapshot.nodes, [](const SnapshotNode& node) {
        return std::ranges::any_of(node.cards, &SnapshotCard::healthy);
    });
    if (!in_order) RC_DISCARD("no card is in order");
    std::vector<std::string> policies;
    for (const FleetPolicyRow& row : fleet_policies())
        policies.emplace_back(row.name);
    const Exhaustive best(snapshot);
    const BoundRun run = bound_of(snapshot, policies);
    int cards = 0;
    for (const SnapshotNode& node : snapshot.nodes)
        cards += static_cast<int>(std::ranges::count(node.cards, true, &SnapshotCard::healthy));
    const double most = best.most_milli() / 10.0 / cards;
    RC_ASSERT(run.bound >= most - kRounding);
    RC_ASSERT(run.bound <= 100 + kRounding);
    for (const PolicyHeld& policy : run.policies)
        RC_ASSERT(policy.percent <= most + kRounding);
    if (best.can_place_all()) RC_ASSERT(*run.all_placed >= run.asked - kRounding);
}

}  // namespace
}  // namespace tessera

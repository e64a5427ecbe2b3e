// Rules on cards are kept, whatever the policy. What else is placed how: live_replay_test.cpp.
#include "app/sim/live_placer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "app/sim/snapshot_builders_test.hpp"

namespace tessera {
namespace {

using build::node;
using build::on;
using build::pod;

// A card of the cluster, by node and index.
using CardName = std::pair<std::int32_t, int>;

std::set<CardName> cards_of(const Placed& placed) {
    std::set<CardName> out;
    for (int card = 0; card < kMaxCards; ++card) {
        if ((placed.cards & card_bit(card)) != 0) out.insert({placed.node, card});
    }
    return out;
}

// Where the waiting pods go, "-" for nowhere: "n:0,1 - m:2".
std::string places(const ClusterSnapshot& snapshot, const char* policy = "binpack") {
    const auto cluster = live_cluster(snapshot);
    EXPECT_TRUE(cluster) << cluster.error().text;
    LivePlacer placer(*cluster, cluster->now, **find_fleet_policy(policy), {});
    for (const LiveGroup& group : cluster->groups.waiting)
        placer.place(group);
    std::string out;
    for (std::size_t i = 0; i < cluster->pods.size(); ++i) {
        if (cluster->pods[i].node >= 0) continue;
        if (!out.empty()) out += " ";
        const auto at = placer.places().find(i);
        if (at == placer.places().end()) {
            out += "-";
            continue;
        }
        std::string cards;
        for (const auto& [node, card] : cards_of(at->second.placed))
            cards += (cards.empty() ? "" : ",") + std::to_string(card);
        out += snapshot.nodes[static_cast<std::size_t>(at->second.placed.node)].name + ":" + cards;
    }
    return out;
}

TEST(LivePlacer, Models) {
    const ClusterSnapshot snapshot{
        .nodes = {node("m", {{"Tesla T4", 15}}), node("n", {{"NVIDIA A100-SXM4-40GB", 40}}),
                  node("x", {{"Tesla T4", 15}, {"NVIDIA A10", 15}})},
        .pods = {pod("a", 4, 1, {.models = "A100"}), pod("b", 4, 1, {.models = "A10"}),
                 pod("c", 4, 1, {.models = "!T4, !A10"}), pod("d", 0, 1, {.models = "H100"}),
                 pod("e", 0, 2, {.models = "T4, A10"})}};
    EXPECT_EQ(places(snapshot), "n:0 x:1 n:0 - -");
    ClusterSnapshot without_b = snapshot;
    without_b.pods.erase(without_b.pods.begin() + 1);
    EXPECT_EQ(places(without_b), "n:0 n:0 - x:0,1");
}

TEST(LivePlacer, Uuids) {
    EXPECT_EQ(places({.nodes = {node("m", {{"T4", 15}, {"T4", 15}}), node("n", {{"T4", 15}})},
                      .pods = {pod("a", 4, 1, {.uuids = "m-1, n-7"}),
                               pod("b", 4, 1, {.uuids = "!m-0, !m-1"}),
                               pod("c", 4, 1, {.models = "A100", .uuids = "n-0"})}}),
              "m:1 n:0 -");
}

// Goal: apart from those that run and those that were placed before, of its own namespace and group
// alone; what was tried for a gang counts no more.
TEST(LivePlacer, Apart) {
    ClusterSnapshot snapshot{
        .nodes = {node("n", {{"T4", 15}, {"T4", 15}, {"T4", 15}})},
        .pods = {on(pod("a", 4, 1, {.apart = "g"}), "n", 0), pod("b", 4, 1, {.apart = "g"}),
                 pod("c", 4, 1, {.apart = "h"}), pod("d", 4, 1, {.apart = "g"}),
                 pod("e", 4, 1, {.apart = "g"})}};
    EXPECT_EQ(places(snapshot), "n:1 n:0 n:2 -");
    snapshot.pods[4].name.space = "other";
    EXPECT_EQ(places(snapshot), "n:1 n:0 n:2 n:0");
    for (const std::size_t of_gang : {1U, 2U, 3U}) {
        snapshot.pods[of_gang].card_rules.apart = "g";
        snapshot.pods[of_gang].gang = GangMembership{"all", 3};
    }
    snapshot.pods[4].name.space = "s";
    EXPECT_EQ(places(snapshot), "- - - n:1");
}

TEST(LivePlacer, Together) {
    ClusterSnapshot snapshot{
        .nodes = {node("m", {{"T4", 15}}), node("n", {{"T4", 15}, {"T4", 15}})},
        .pods = {pod("a", 4, 1, {.together = "g"}), on(pod("b", 4), "n", 1),
                 pod("c", 4, 1, {.together = "g"}), pod("d", 10, 1, {.together = "g"})}};
    EXPECT_EQ(places(snapshot), "n:1 n:1 -");
    snapshot.pods[0] = on(snapshot.pods[0], "m", 0);
    EXPECT_EQ(places(snapshot), "m:0 -");
}

// Goal: cards of one node that have several sizes: a share is a part of the card that it is on, and
// one that is too large for a card is not put there.
TEST(LivePlacer, SizesWithinANode) {
    const ClusterSnapshot snapshot{
        .nodes = {node("n", {{"A100", 80}, {"T4", 16}})},
        .pods = {pod("a", 40), pod("b", 40), pod("c", 8), pod("d", 8), pod("e", 8)}};
    EXPECT_EQ(places(snapshot), "n:0 n:0 n:1 n:1 -");
    const ClusterSnapshot whole{.nodes = snapshot.nodes, .pods = {pod("a", 0, 2)}};
    EXPECT_EQ(places(whole), "n:0,1");
}

bool admits_by_name(const CardRules& rules, const SnapshotCard& card) {
    const auto is_one = [&](const std::vector<std::string>& wishes) {
        return std::ranges::any_of(
            wishes, [&](const std::string& wish) { return is_of_model(wish, card.model); });
    };
    const auto has = [&](const std::vector<GpuUuid>& uuids) {
        return std::ranges::find(uuids, card.uuid) != uuids.end();
    };
    return (rules.models.empty() || is_one(rules.models)) && !is_one(rules.barred_models) &&
           (rules.uuids.empty() || has(rules.uuids)) && !has(rules.barred_uuids);
}

CardRuleTexts any_rules(const std::string& uuid) {
    const auto maybe = [](std::vector<std::string> texts) {
        texts.insert(texts.end(), 2, "");
        return *rc::gen::elementOf(texts);
    };
    return {maybe({"A", "B", "!A"}), maybe({uuid, "!" + uuid}), maybe({"g", "h"}),
            maybe({"g", "h"})};
}

ClusterSnapshot any_cluster() {
    ClusterSnapshot snapshot;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        SnapshotNode any = node("n" + std::to_string(i), {});
        for (int card = *rc::gen::inRange(0, 4); card > 0; --card) {
            any.cards.push_back({.model = *rc::gen::element("A", "B"),
                                 .memory = gibibytes(*rc::gen::element(10, 40)),
                                 .uuid = GpuUuid(any.name + "-" + std::to_string(card))});
        }
        snapshot.nodes.push_back(std::move(any));
    }
    const SnapshotNode& first = snapshot.nodes.front();
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
        SnapshotPod any = pod("p" + std::to_string(i), *rc::gen::element(0, 2, 5, 12),
                              *rc::gen::element(1, 1, 2), any_rules("n1-1"));
        any.name.space = *rc::gen::element("s", "t");
        if (*rc::gen::inRange(0, 4) == 0) any.asks.push_back(any.asks[0]);
        if (*rc::gen::inRange(0, 4) == 0) any.gang = GangMembership{"g", *rc::gen::inRange(1, 4)};
        if (!first.cards.empty() && *rc::gen::inRange(0, 4) == 0)
            any = on(any, first.name, *rc::gen::inRange(0, static_cast<int>(first.cards.size())));
        snapshot.pods.push_back(std::move(any));
    }
    return snapshot;
}

// Who is where so far.
struct There {
    const LivePod* pod;
    std::set<CardName> cards;
};

// As docs/placement.md says it.
void check_rules(const ClusterSnapshot& snapshot, const LivePod& pod, const std::set<CardName>& at,
                 const std::vector<There>& others) {
    const CardRules& rules = pod.rules();
    std::set<CardName> together;
    for (const auto& [node, card] : at) {
        RC_ASSERT(admits_by_name(
            rules,
            snapshot.nodes[static_cast<std::size_t>(node)].cards[static_cast<std::size_t>(card)]));
    }
    for (const There& other : others) {
        const bool is_apart = rules.apart && other.pod->rules().apart == rules.apart;
        for (const CardName& card : other.cards)
            RC_ASSERT(!is_apart || !at.contains(card));
        if (rules.together && other.pod->rules().together == rules.together)
            together.insert(other.cards.begin(), other.cards.end());
    }
    if (!together.empty()) RC_ASSERT(std::ranges::includes(together, at));
}

// What pods of one container hold of each card, in bytes, is no more than it has.
void check_sizes(const ClusterSnapshot& snapshot, const std::vector<There>& there) {
    std::map<CardName, Bytes> held;
    for (const There& one : there) {
        const SnapshotPod& pod = snapshot.pods[one.pod->row];
        if (pod.asks.size() > 1) continue;
        for (const CardName& at : one.cards) {
            const Bytes has = snapshot.nodes[static_cast<std::size_t>(at.first)]
                                  .cards[static_cast<std::size_t>(at.second)]
                                  .memory;
            held[at] += bytes_of(pod.asks.front().memory, MemoryUnit::gib, has);
            RC_ASSERT(held[at] <= has);
        }
    }
}

// Goal: no rule is ever broken, under any policy, beside what runs or with all placed anew; nor is
// a card given more than once. Method: who was placed before whom, and the rules' own words.
RC_GTEST_PROP(LivePlacer, BreaksNoRule, ()) {
    const ClusterSnapshot snapshot = any_cluster();
    const auto cluster = live_cluster(snapshot);
    RC_ASSERT(cluster.has_value());
    const auto& policies = fleet_policies();
    const FleetPolicyRow& policy = policies[*rc::gen::inRange<std::size_t>(0, policies.size())];
    const bool anew = *rc::gen::arbitrary<bool>();
    LivePlacer placer(*cluster, anew ? cluster->empty : cluster->now, policy,
                      {.draws = *rc::gen::inRange(0, 9)});
    std::vector<There> there;
    if (!anew) {
        for (const LivePod& pod : cluster->pods) {
            if (pod.node < 0) continue;
            const SnapshotShare& share = snapshot.pods[pod.row].holds.front().shares.front();
            there.push_back({&pod, {{pod.node, share.card}}});
        }
    }
    for (const LiveGroup& group : anew ? cluster->groups.all : cluster->groups.waiting) {
        if (!placer.place(group)) continue;
        for (const std::size_t one : group.pods) {
            const LivePod& pod = cluster->pods[one];
            const auto cards = cards_of(placer.places().at(one).placed);
            check_rules(snapshot, pod, cards, there);
            there.push_back({&pod, cards});
        }
    }
    if (anew) check_sizes(snapshot, there);
}

}  // namespace
}  // namespace tessera

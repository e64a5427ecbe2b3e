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

// Cards 0 and 1 of a node reach each other by NVLink, and so do 2 and 3; all are of one NUMA node.
SnapshotNode pairs(const std::string& name, int gib) {
    SnapshotNode out = node(name, {{"T4", gib}, {"T4", gib}, {"T4", gib}, {"T4", gib}});
    for (std::size_t card = 0; card < 4; ++card)
        out.cards[card].links = {.numa = 0, .nvlink = std::uint64_t{1} << (card ^ 1U)};
    return out;
}

// Goal: a pod that insists on a link gets cards that are linked so, whatever the policy would take,
// or none; one that asks for a single card, or insists on nothing, gets any.
TEST(LivePlacer, Links) {
    const ClusterSnapshot snapshot{
        .nodes = {node("m", {{"T4", 15}, {"T4", 15}}), pairs("n", 15)},
        .pods = {on(pod("a", 15), "n", 1), pod("b", 0, 2, {.links = "nvlink"}),
                 pod("c", 0, 2, {.links = "nvlink"}), pod("d", 0, 2),
                 pod("e", 4, 1, {.links = "nvlink"})}};
    for (const char* policy : {"binpack", "spread", "fgd"})
        EXPECT_EQ(places(snapshot, policy), "n:2,3 - m:0,1 n:0") << policy;
    ClusterSnapshot near = snapshot;
    near.pods = {pod("a", 8, 3, {.links = "nvlink"}), pod("b", 8, 3, {.links = "numa"}),
                 pod("c", 8, 2, {.links = "pcie"})};
    EXPECT_EQ(places(near), "- n:0,1,2 -");
}

// Goal: by lot every card of every node is as likely as any other, whether it is linked or looked
// at one by one.
TEST(LivePlacer, RandomTakesAnyCardOfAnyNode) {
    constexpr int kSeeds = 400;
    for (const bool is_linked : {false, true}) {
        for (const char* models : {"", "!A10"}) {
            SnapshotNode m = node("m", {{"T4", 15}, {"T4", 15}});
            SnapshotNode n = node("n", {{"T4", 15}, {"T4", 15}});
            for (SnapshotNode* of : {&m, &n}) {
                for (std::size_t card = 0; is_linked && card < 2; ++card)
                    of->cards[card].links = {.nvlink = std::uint64_t{1} << (card ^ 1U)};
            }
            SnapshotPod one = pod("a", 4);
            one.card_rules.models = models;
            if (*models != 0) one.asks.push_back(one.asks.front());
            const auto cluster = live_cluster({.nodes = {m, n}, .pods = {one}});
            ASSERT_TRUE(cluster);
            std::map<CardName, int> taken;
            for (int seed = 0; seed < kSeeds; ++seed) {
                LivePlacer placer(*cluster, cluster->now, **find_fleet_policy("random"),
                                  {.draws = seed});
                placer.place({.pods = {0}, .size = 1});
                const auto cards = cards_of(placer.places().at(0).placed);
                ++taken[*cards.begin()];
            }
            for (const auto& [card, times] : taken)
                EXPECT_GT(times, kSeeds / 8)
                    << card.first << ":" << card.second << " " << is_linked << models;
            EXPECT_EQ(taken.size(), 4U) << is_linked << models;
        }
    }
}

// Goal: of pairs with room the tighter one, as the controller has it; each container of a pod has
// cards of its own link.
TEST(LivePlacer, LinksOfTheTighterSet) {
    ClusterSnapshot snapshot{
        .nodes = {pairs("n", 16)},
        .pods = {on(pod("a", 4), "n", 2), pod("b", 8, 2, {.links = "nvlink"})}};
    EXPECT_EQ(places(snapshot), "n:2,3");
    snapshot.pods[1] = pod("b", 0, 2, {.links = "nvlink"});
    EXPECT_EQ(places(snapshot), "n:0,1");
    snapshot.pods[1].asks.push_back(snapshot.pods[1].asks[0]);
    EXPECT_EQ(places(snapshot), "-");
    snapshot.pods.erase(snapshot.pods.begin());
    EXPECT_EQ(places(snapshot), "n:0,1,2,3");
}

// Goal: cards near each other are preferred where nobody insists, and a single card is taken where
// it breaks up the least.
TEST(LivePlacer, NearCardsWhereNobodyInsists) {
    ClusterSnapshot snapshot{.nodes = {pairs("n", 16)},
                             .pods = {on(pod("a", 16), "n", 1), pod("b", 16, 2)}};
    EXPECT_EQ(places(snapshot), "n:2,3") << "and not 0 and 2";
    snapshot.pods[1] = pod("b", 8);
    EXPECT_EQ(places(snapshot), "n:0");
    snapshot.pods[0] = on(pod("a", 16), "n", 3);
    EXPECT_EQ(places(snapshot), "n:2") << "whose pair is broken up already";
    snapshot.pods[1] = pod("b", 8, 3);
    EXPECT_EQ(places(snapshot), "n:0,1,2");
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
            maybe({"g", "h"}), maybe({"nvlink", "pcie", "numa"})};
}

// Both ends of a link say so.
void link_some(SnapshotNode& node) {
    const auto link = [&](std::uint64_t CardLinks::* peers, std::size_t a, std::size_t b) {
        if (*rc::gen::arbitrary<bool>()) return;
        node.cards[a].links.*peers |= std::uint64_t{1} << b;
        node.cards[b].links.*peers |= std::uint64_t{1} << a;
    };
    for (std::size_t a = 0; a < node.cards.size(); ++a) {
        node.cards[a].links.numa = *rc::gen::inRange(-1, 2);
        for (std::size_t b = 0; b < a; ++b) {
            link(&CardLinks::pcie, a, b);
            link(&CardLinks::nvlink, a, b);
        }
    }
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
        link_some(any);
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
    if (!rules.link || pod.ask.request.size() > 1) return;
    const auto is_linked = [&](const CardName& a, const CardName& b) {
        const auto& cards = snapshot.nodes[static_cast<std::size_t>(a.first)].cards;
        const CardLinks& links = cards[static_cast<std::size_t>(a.second)].links;
        if (*rules.link == Link::numa) {
            return links.numa != kNumaUnknown &&
                   links.numa == cards[static_cast<std::size_t>(b.second)].links.numa;
        }
        const std::uint64_t peers = *rules.link == Link::nvlink ? links.nvlink : links.pcie;
        return ((peers >> static_cast<unsigned>(b.second)) & 1) != 0;
    };
    for (const CardName& a : at) {
        for (const CardName& b : at)
            RC_ASSERT(a == b || is_linked(a, b));
    }
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

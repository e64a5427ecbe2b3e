// Rules on cards, from the annotation to the card that a pod is given.
#include "domain/placement/admission.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "domain/cluster/state.hpp"
#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr int kCards = 4;
const std::vector<std::string> kModels = {"Tesla T4", "NVIDIA A100-SXM4-80GB"};

// Nodes of four cards of 16 GiB: of two models each, two by two.
class Cluster {
  public:
    explicit Cluster(int nodes) {
        for (int i = 0; i < nodes; ++i) {
            NodeInventory node = build::node(fmt::format("n{}", i), kCards, gibibytes(16));
            for (std::size_t card = 0; card < node.gpus.size(); ++card)
                node.gpus[card].model = kModels[card / 2];
            state_.set_node(node);
            names_.push_back(node.name);
        }
    }

    static PodFacts pod(const std::string& name, int gib, const CardRuleTexts& rules) {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        pod.card_rules = rules;
        return pod;
    }
    // On a node, or on the first that has room.
    Result<Allocation> place(const PodFacts& pod, int node = -1) {
        Result<Allocation> last = fail(Code::unavailable, "no node");
        for (int i = 0; i < static_cast<int>(names_.size()); ++i) {
            if (node >= 0 && node != i) continue;
            const auto made = state_.reserve(build::ask(pod), names_[static_cast<std::size_t>(i)]);
            if (!made) {
                last = fail(made.error());
                continue;
            }
            state_.set_pod(build::bound(pod, made->allocation));
            return made->allocation;
        }
        return last;
    }
    // "n0:2": where the pod is, or why not.
    std::string where(const PodFacts& pod, int node = -1) {
        const auto made = place(pod, node);
        if (!made) return made.error().text;
        return fmt::format("{}:{}", made->node.str(), made->containers[0].gpus[0].index);
    }
    ClusterState& state() { return state_; }

  private:
    ClusterState state_;
    std::vector<NodeName> names_;
};

TEST(Admission, GivesCardsOfTheModelsAsked) {
    Cluster cluster(1);
    EXPECT_EQ(cluster.where(Cluster::pod("a", 4, {.models = "A100"})), "n0:2");
    EXPECT_EQ(cluster.where(Cluster::pod("b", 4, {.models = "!A100"})), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("c", 4, {.uuids = "GPU-n0-3"})), "n0:3");
    EXPECT_EQ(cluster.where(Cluster::pod("d", 4, {.models = "T4", .uuids = "!GPU-n0-0"})), "n0:1");
    EXPECT_EQ(cluster.where(Cluster::pod("e", 4, {.models = "H100"})),
              "No GPU of the kind asked for: asked a card of model H100, this node has NVIDIA "
              "A100-SXM4-80GB and Tesla T4 (4 cards)");
    EXPECT_EQ(cluster.where(Cluster::pod("f", 15, {.models = "A100"})),
              "Insufficient GPU Memory in one device: asked 15Gi, largest free share on a card is "
              "12Gi (2 cards that it admits)");
}

TEST(Admission, KeepsPodsOfAGroupApart) {
    Cluster cluster(1);
    const CardRuleTexts web{.apart = "web"};
    for (int i = 0; i < kCards; ++i)
        EXPECT_EQ(cluster.where(Cluster::pod(fmt::format("w{}", i), 2, web)),
                  fmt::format("n0:{}", i));
    const std::string refusal = cluster.where(Cluster::pod("w4", 2, web));
    EXPECT_EQ(refusal,
              "No GPU with the company asked for: tessera.dev/gpu-apart "
              "leaves 0 of this node's 4 cards");
    EXPECT_EQ(cluster.where(Cluster::pod("other", 2, {.apart = "job"})), "n0:0");
    cluster.state().remove_pod(PodUid("uid-w2"));
    EXPECT_EQ(cluster.where(Cluster::pod("w4", 2, web)), "n0:2");
}

TEST(Admission, PutsPodsOfAGroupTogether) {
    Cluster cluster(2);
    const CardRuleTexts pair{.together = "pair"};
    EXPECT_EQ(cluster.where(Cluster::pod("first", 4, pair), 1), "n1:0");
    EXPECT_EQ(cluster.where(Cluster::pod("big", 13, {}), 0), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("second", 4, pair)), "n1:0");
    EXPECT_EQ(cluster.where(Cluster::pod("third", 12, pair)),
              "Insufficient GPU Memory in one device: asked 12Gi, largest free share on a card is "
              "8Gi (1 cards that it admits)");
    // Nobody is left to be with.
    cluster.state().remove_pod(PodUid("uid-first"));
    cluster.state().remove_pod(PodUid("uid-second"));
    EXPECT_EQ(cluster.where(Cluster::pod("third", 12, pair), 0), "n0:1");
}

// Goal: room that is kept for a pod of a group counts as the pod itself would: for a gang whose
// pods are apart, each gets a card of its own.
TEST(Admission, CountsRoomThatIsKept) {
    Cluster cluster(1);
    const CardRuleTexts web{.apart = "web"};
    for (const char* name : {"a", "b"}) {
        cluster.state().set_pod(Cluster::pod(name, 2, web));
        ASSERT_TRUE(
            cluster.state().promise(PodUid(fmt::format("uid-{}", name)), NodeName("n0"), {}));
    }
    EXPECT_EQ(cluster.where(Cluster::pod("c", 2, web)), "n0:2");
    const CardRuleTexts pair{.together = "pair"};
    cluster.state().set_pod(Cluster::pod("d", 2, pair));
    EXPECT_FALSE(cluster.state()
                     .view()
                     ->joined(build::ask(Cluster::pod("d", 2, pair)))
                     .request[0]
                     .gpu.rules.joins);
    ASSERT_TRUE(cluster.state().promise(PodUid("uid-d"), NodeName("n0"), {}));
    const auto joins = [&](const char* name) {
        const PodAsk pod = build::ask(Cluster::pod(name, 2, pair));
        return cluster.state().view()->joined(pod).request[0].gpu.rules.joins;
    };
    EXPECT_TRUE(joins("e"));
    EXPECT_FALSE(joins("d")) << "with itself";
}

// Goal: two pods of a gang that are to be together find room on one card, and are both bound there,
// whichever is the first.
TEST(Admission, PlacesAGangTogether) {
    for (const bool is_turned : {false, true}) {
        Cluster cluster(2);
        const CardRuleTexts pair{.together = "pair"};
        const std::vector<std::string> names = {is_turned ? "b" : "a", is_turned ? "a" : "b"};
        for (const std::string& name : names) {
            cluster.state().set_pod(Cluster::pod(name, 2, pair));
            ASSERT_TRUE(cluster.state().promise(PodUid("uid-" + name), NodeName("n1"), {}));
        }
        EXPECT_EQ(cluster.where(Cluster::pod("a", 2, pair), 1), "n1:0");
        EXPECT_EQ(cluster.where(Cluster::pod("b", 2, pair)), "n1:0");
    }
}

// Goal: a pod that is bound elsewhere than room was kept for it is found where it is.
TEST(Admission, AMateIsFoundWhereItIs) {
    for (const int bound : {0, 1}) {
        Cluster cluster(2);
        const CardRuleTexts pair{.together = "pair"};
        PodFacts first = Cluster::pod("first", 2, pair);
        first.nominated = NodeName(bound == 0 ? "n1" : "n0");
        cluster.state().set_pod(first);
        cluster.state().view();
        EXPECT_EQ(cluster.where(first, bound), fmt::format("n{}:0", bound));
        EXPECT_NE(cluster.where(Cluster::pod("second", 2, pair), 1 - bound).find("company"),
                  std::string::npos);
        EXPECT_EQ(cluster.where(Cluster::pod("second", 2, pair)), fmt::format("n{}:0", bound));
    }
}

// Goal: a pod that is ending is still on its card, also where a nominee waits for its room.
TEST(Admission, WhoIsEndingIsStillThere) {
    Cluster cluster(1);
    const CardRuleTexts web{.apart = "web"};
    PodFacts ending = Cluster::pod("ending", 8, web);  // best fit would go beside it
    const auto made = cluster.place(ending);
    ASSERT_TRUE(made);
    ending.terminating = true;
    cluster.state().set_pod(build::bound(ending, *made));
    PodFacts nominee = Cluster::pod("nominee", 4, {.models = "A100"});
    nominee.nominated = NodeName("n0");
    cluster.state().set_pod(nominee);
    EXPECT_EQ(cluster.where(Cluster::pod("next", 2, web)), "n0:2");
}

// Goal: nobody ends whom the pod wants to be with.
TEST(Admission, NobodyEndsAMate) {
    Cluster cluster(1);
    const CardRuleTexts pair{.together = "pair"};
    EXPECT_EQ(cluster.where(Cluster::pod("mate", 4, pair)), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("stranger", 12, {.uuids = "GPU-n0-0"})), "n0:0");
    PodAsk pod = build::ask(Cluster::pod("pod", 8, pair));
    pod.priority = 100;
    const auto view = cluster.state().view();
    const auto plan = plan_preemption(*view->find("n0"), view->joined(pod));
    ASSERT_EQ(plan.kind, Preemption::Kind::evict);
    ASSERT_EQ(plan.victims.size(), 1U);
    EXPECT_EQ(plan.victims[0]->name.name, "stranger");
}

struct Placed {
    PodUid uid;
    CardRuleTexts rules;
    std::set<std::string> cards;
    int gib;
};

// Goal: whatever comes and goes, nobody is on a card that its rules forbid, and no card holds more
// than it has. Method: random pods on random nodes; the rules are checked from their texts.
RC_GTEST_PROP(Admission, NoRuleIsEverBroken, ()) {
    std::mt19937_64 dice(*rc::gen::arbitrary<std::uint64_t>());
    const auto below = [&](int limit) {
        return static_cast<int>(dice() % static_cast<std::uint64_t>(limit));
    };
    const auto one_of = [&](const std::vector<std::string>& texts) {
        return texts[static_cast<std::size_t>(below(static_cast<int>(texts.size())))];
    };
    Cluster cluster(3);
    std::vector<Placed> placed;
    for (int step = 0; step < 120; ++step) {
        if (!placed.empty() && below(3) == 0) {
            const auto gone = placed.begin() + below(static_cast<int>(placed.size()));
            cluster.state().remove_pod(gone->uid);
            placed.erase(gone);
            continue;
        }
        const CardRuleTexts rules{
            .models = one_of({"", "", "T4", "!T4", "A100, T4", "H100"}),
            .uuids = one_of({"", "", "", "GPU-n0-1, GPU-n1-2", "!GPU-n0-0"}),
            .apart = one_of({"", "", "x", "y"}),
            .together = one_of({"", "", "", "u", "v"}),
        };
        const int gib = 1 + below(8);
        PodFacts pod =
            build::pod(fmt::format("p{}", step), build::native(gibibytes(gib), 1 + below(2)));
        pod.card_rules = rules;
        const auto made = cluster.place(pod, below(4) - 1);
        if (!made) continue;
        Placed now{pod.uid, rules, {}, gib};
        for (const GpuShare& share : made->containers[0].gpus) {
            now.cards.insert(share.uuid.str());
            const std::string& model = kModels[static_cast<std::size_t>(share.index) / 2];
            if (rules.models == "T4") RC_ASSERT(model == "Tesla T4");
            if (rules.models == "!T4") RC_ASSERT(model != "Tesla T4");
            RC_ASSERT(rules.models != "H100");
            if (rules.uuids.starts_with("GPU"))
                RC_ASSERT(rules.uuids.find(share.uuid.str()) != std::string::npos);
            if (rules.uuids.starts_with("!")) RC_ASSERT(share.uuid.str() != "GPU-n0-0");
        }
        const auto shares = [&](const Placed& other, const std::string& card) {
            return other.cards.contains(card);
        };
        const bool has_mate = std::ranges::any_of(placed, [&](const Placed& other) {
            return !rules.together.empty() && other.rules.together == rules.together;
        });
        for (const std::string& card : now.cards) {
            bool is_with_mate = false;
            int sum = gib;
            for (const Placed& other : placed) {
                if (!shares(other, card)) continue;
                sum += other.gib;
                RC_ASSERT(rules.apart.empty() || other.rules.apart != rules.apart);
                if (other.rules.together == rules.together) is_with_mate = true;
            }
            RC_ASSERT(sum <= 16);
            RC_ASSERT(!has_mate || is_with_mate);
        }
        placed.push_back(std::move(now));
    }
}

}  // namespace
}  // namespace tessera

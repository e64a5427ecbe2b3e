// Rules on GPUs, from the annotation to the GPU that a pod gets.
#include "domain/placement/gpu_constraints.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr int kGpus = 4;
const std::vector<std::string> kModels = {"Tesla T4", "NVIDIA A100-SXM4-80GB"};

// Nodes with four GPUs of 16 GiB: two models on each, two GPUs of each.
class Cluster {
  public:
    explicit Cluster(int nodes) {
        for (int i = 0; i < nodes; ++i) {
            NodeInventory node = build::node(fmt::format("n{}", i), kGpus, gibibytes(16));
            for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu)
                node.gpus[gpu].model = kModels[gpu / 2];
            state_.set_node(node);
            names_.push_back(node.name);
        }
    }

    static PodInfo pod(const std::string& name, int gib, const GpuRuleTexts& rules) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.gpu_rules = rules;
        return pod;
    }
    // On the given node, or on the first one on which the pod fits.
    Result<Allocation> place(const PodInfo& pod, int node = -1) {
        Result<Allocation> last = fail(Code::unavailable, "no node");
        for (int i = 0; i < static_cast<int>(names_.size()); ++i) {
            if (node >= 0 && node != i) continue;
            const auto made =
                state_.reserve(build::request(pod), names_[static_cast<std::size_t>(i)]);
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
    std::string where(const PodInfo& pod, int node = -1) {
        const auto made = place(pod, node);
        if (!made) return made.error().text;
        return fmt::format("{}:{}", made->node.str(), made->containers[0].gpus[0].index);
    }
    ClusterState& state() { return state_; }

  private:
    ClusterState state_;
    std::vector<NodeName> names_;
};

TEST(GpuConstraints, GivesGpusOfTheModelsAsked) {
    Cluster cluster(1);
    EXPECT_EQ(cluster.where(Cluster::pod("a", 4, {.models = "A100"})), "n0:2");
    EXPECT_EQ(cluster.where(Cluster::pod("b", 4, {.models = "!A100"})), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("c", 4, {.uuids = "GPU-n0-3"})), "n0:3");
    EXPECT_EQ(cluster.where(Cluster::pod("d", 4, {.models = "T4", .uuids = "!GPU-n0-0"})), "n0:1");
    EXPECT_EQ(cluster.where(Cluster::pod("e", 4, {.models = "H100"})),
              "No GPU of the requested kind: asked a GPU of model H100, this node has NVIDIA "
              "A100-SXM4-80GB and Tesla T4 (4 GPUs)");
    EXPECT_EQ(cluster.where(Cluster::pod("f", 15, {.models = "A100"})),
              "Insufficient GPU Memory in one device: asked 15Gi, largest free share on a GPU is "
              "12Gi (2 GPUs that it accepts)");
}

TEST(GpuConstraints, KeepsPodsOfAGroupApart) {
    Cluster cluster(1);
    const GpuRuleTexts web{.anti_affinity = "web"};
    for (int i = 0; i < kGpus; ++i)
        EXPECT_EQ(cluster.where(Cluster::pod(fmt::format("w{}", i), 2, web)),
                  fmt::format("n0:{}", i));
    const std::string refusal = cluster.where(Cluster::pod("w4", 2, web));
    EXPECT_EQ(refusal,
              "No GPU with the requested affinity: tessera.dev/gpu-anti-affinity "
              "leaves 0 of this node's 4 GPUs");
    EXPECT_EQ(cluster.where(Cluster::pod("other", 2, {.anti_affinity = "job"})), "n0:0");
    cluster.state().remove_pod(PodUid("uid-w2"));
    EXPECT_EQ(cluster.where(Cluster::pod("w4", 2, web)), "n0:2");
}

TEST(GpuConstraints, PutsPodsOfAGroupTogether) {
    Cluster cluster(2);
    const GpuRuleTexts pair{.affinity = "pair"};
    EXPECT_EQ(cluster.where(Cluster::pod("first", 4, pair), 1), "n1:0");
    EXPECT_EQ(cluster.where(Cluster::pod("big", 13, {}), 0), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("second", 4, pair)), "n1:0");
    EXPECT_EQ(cluster.where(Cluster::pod("third", 12, pair)),
              "Insufficient GPU Memory in one device: asked 12Gi, largest free share on a GPU is "
              "8Gi (1 GPUs that it accepts)");
    // No pod of the group is left.
    cluster.state().remove_pod(PodUid("uid-first"));
    cluster.state().remove_pod(PodUid("uid-second"));
    EXPECT_EQ(cluster.where(Cluster::pod("third", 12, pair), 0), "n0:1");
}

// Goal: a reservation for a pod of a group counts as the pod itself: in a gang with anti-affinity,
// each pod gets its own GPU.
TEST(GpuConstraints, CountsRoomThatIsKept) {
    Cluster cluster(1);
    const GpuRuleTexts web{.anti_affinity = "web"};
    for (const char* name : {"a", "b"}) {
        cluster.state().set_pod(Cluster::pod(name, 2, web));
        ASSERT_TRUE(cluster.state().reserve_node(PodUid(fmt::format("uid-{}", name)),
                                                 NodeName("n0"), ReservedBy::preemption));
    }
    EXPECT_EQ(cluster.where(Cluster::pod("c", 2, web)), "n0:2");
    const GpuRuleTexts pair{.affinity = "pair"};
    cluster.state().set_pod(Cluster::pod("d", 2, pair));
    EXPECT_FALSE(cluster.state()
                     .snapshot()
                     ->joined(build::request(Cluster::pod("d", 2, pair)))
                     .containers[0]
                     .gpu.rules.joins);
    ASSERT_TRUE(
        cluster.state().reserve_node(PodUid("uid-d"), NodeName("n0"), ReservedBy::preemption));
    const auto joins = [&](const char* name) {
        const PodRequest pod = build::request(Cluster::pod(name, 2, pair));
        return cluster.state().snapshot()->joined(pod).containers[0].gpu.rules.joins;
    };
    EXPECT_TRUE(joins("e"));
    EXPECT_FALSE(joins("d")) << "with itself";
}

// Goal: two pods of a gang with affinity get a reservation on one GPU, and both are bound there,
// whichever comes first.
TEST(GpuConstraints, PlacesAGangTogether) {
    for (const bool is_turned : {false, true}) {
        Cluster cluster(2);
        const GpuRuleTexts pair{.affinity = "pair"};
        const std::vector<std::string> names = {is_turned ? "b" : "a", is_turned ? "a" : "b"};
        for (const std::string& name : names) {
            cluster.state().set_pod(Cluster::pod(name, 2, pair));
            ASSERT_TRUE(cluster.state().reserve_node(PodUid("uid-" + name), NodeName("n1"),
                                                     ReservedBy::preemption));
        }
        EXPECT_EQ(cluster.where(Cluster::pod("a", 2, pair), 1), "n1:0");
        EXPECT_EQ(cluster.where(Cluster::pod("b", 2, pair)), "n1:0");
    }
}

// Goal: a pod that is bound on another node than its reservation is found where it is.
TEST(GpuConstraints, AnAffinityPeerIsFoundWhereItIs) {
    for (const int bound : {0, 1}) {
        Cluster cluster(2);
        const GpuRuleTexts pair{.affinity = "pair"};
        PodInfo first = Cluster::pod("first", 2, pair);
        first.nominated = NodeName(bound == 0 ? "n1" : "n0");
        cluster.state().set_pod(first);
        cluster.state().snapshot();
        EXPECT_EQ(cluster.where(first, bound), fmt::format("n{}:0", bound));
        EXPECT_NE(cluster.where(Cluster::pod("second", 2, pair), 1 - bound).find("affinity"),
                  std::string::npos);
        EXPECT_EQ(cluster.where(Cluster::pod("second", 2, pair)), fmt::format("n{}:0", bound));
    }
}

// Goal: a terminating pod is still on its GPU, even if a nominee waits for that GPU.
TEST(GpuConstraints, WhoIsEndingIsStillThere) {
    Cluster cluster(1);
    const GpuRuleTexts web{.anti_affinity = "web"};
    PodInfo ending = Cluster::pod("ending", 8, web);  // best fit would choose its GPU
    const auto made = cluster.place(ending);
    ASSERT_TRUE(made);
    ending.terminating = true;
    cluster.state().set_pod(build::bound(ending, *made));
    PodInfo nominee = Cluster::pod("nominee", 4, {.models = "A100"});
    nominee.nominated = NodeName("n0");
    cluster.state().set_pod(nominee);
    EXPECT_EQ(cluster.where(Cluster::pod("next", 2, web)), "n0:2");
}

// Goal: a pod with an affinity never preempts the pods of its group.
TEST(GpuConstraints, NoPodEvictsItsAffinityPeer) {
    Cluster cluster(1);
    const GpuRuleTexts pair{.affinity = "pair"};
    EXPECT_EQ(cluster.where(Cluster::pod("mate", 4, pair)), "n0:0");
    EXPECT_EQ(cluster.where(Cluster::pod("stranger", 12, {.uuids = "GPU-n0-0"})), "n0:0");
    PodRequest pod = build::request(Cluster::pod("pod", 8, pair));
    pod.priority = 100;
    const auto snapshot = cluster.state().snapshot();
    const auto plan = plan_preemption(*snapshot->find("n0"), snapshot->joined(pod));
    ASSERT_EQ(plan.kind, Preemption::Kind::evict);
    ASSERT_EQ(plan.victims.size(), 1U);
    EXPECT_EQ(plan.victims[0]->name.name, "stranger");
}

struct Placed {
    PodUid uid;
    GpuRuleTexts rules;
    std::set<std::string> gpus;
    int gib;
};

// Goal: no pod is ever on a GPU that its rules forbid, and no GPU is over-committed. Method: random
// pods on random nodes; the rules are checked from their texts.
RC_GTEST_PROP(GpuConstraints, NoRuleIsEverBroken, ()) {
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
        const GpuRuleTexts rules{
            .models = one_of({"", "", "T4", "!T4", "A100, T4", "H100"}),
            .uuids = one_of({"", "", "", "GPU-n0-1, GPU-n1-2", "!GPU-n0-0"}),
            .anti_affinity = one_of({"", "", "x", "y"}),
            .affinity = one_of({"", "", "", "u", "v"}),
        };
        const int gib = 1 + below(8);
        PodInfo pod =
            build::pod(fmt::format("p{}", step), build::native(gibibytes(gib), 1 + below(2)));
        pod.gpu_rules = rules;
        const auto made = cluster.place(pod, below(4) - 1);
        if (!made) continue;
        Placed now{pod.uid, rules, {}, gib};
        for (const GpuShare& share : made->containers[0].gpus) {
            now.gpus.insert(share.uuid.str());
            const std::string& model = kModels[static_cast<std::size_t>(share.index) / 2];
            if (rules.models == "T4") RC_ASSERT(model == "Tesla T4");
            if (rules.models == "!T4") RC_ASSERT(model != "Tesla T4");
            RC_ASSERT(rules.models != "H100");
            if (rules.uuids.starts_with("GPU"))
                RC_ASSERT(rules.uuids.find(share.uuid.str()) != std::string::npos);
            if (rules.uuids.starts_with("!")) RC_ASSERT(share.uuid.str() != "GPU-n0-0");
        }
        const auto shares = [&](const Placed& other, const std::string& gpu) {
            return other.gpus.contains(gpu);
        };
        const bool has_affine = std::ranges::any_of(placed, [&](const Placed& other) {
            return !rules.affinity.empty() && other.rules.affinity == rules.affinity;
        });
        for (const std::string& gpu : now.gpus) {
            bool is_with_affine = false;
            int sum = gib;
            for (const Placed& other : placed) {
                if (!shares(other, gpu)) continue;
                sum += other.gib;
                RC_ASSERT(rules.anti_affinity.empty() ||
                          other.rules.anti_affinity != rules.anti_affinity);
                if (other.rules.affinity == rules.affinity) is_with_affine = true;
            }
            RC_ASSERT(sum <= 16);
            RC_ASSERT(!has_affine || is_with_affine);
        }
        placed.push_back(std::move(now));
    }
}

// A node with two GPUs, both offered for MPS, and one that does not offer it.
class Modes : public testing::Test {
  protected:
    Modes() {
        NodeInventory node = build::node("n0", 2, gibibytes(16));
        node.shares = EnforcementMode::guard;
        for (Gpu& gpu : node.gpus)
            gpu.offers_mps = true;
        state_.set_node(node);
        state_.set_node(build::node("n1", 1, gibibytes(16)));
    }

    static PodInfo pod(const std::string& name, const std::string& isolation, int gib = 3,
                       int cores = 25) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.request->front().gpu.cores = {cores};
        pod.gpu_rules.isolation = isolation;
        return pod;
    }
    // "0": on which GPU of the node the pod is now, or why it is not there.
    std::string place(const PodInfo& pod, const std::string& node = "n0") {
        const auto made = state_.reserve(build::request(pod), NodeName(node));
        if (!made) return made.error().text;
        state_.set_pod(build::bound(pod, made->allocation));
        const GpuShare& share = made->allocation.containers[0].gpus[0];
        EXPECT_EQ(share.mps, pod.gpu_rules.isolation == "mps");
        return std::to_string(share.index);
    }

    ClusterState state_;
};

// Goal: pods with MPS share a GPU with each other alone, whatever is free on the others, and the
// refusal says so.
TEST_F(Modes, NoGpuHasPodsOfBothKinds) {
    EXPECT_EQ(place(pod("a", "mps")), "0");
    EXPECT_EQ(place(pod("b", "")), "1");
    EXPECT_EQ(place(pod("c", "mps")), "0");
    EXPECT_EQ(place(pod("d", "guard")), "1");
    // Memory only, for which the placer has a path of its own.
    EXPECT_EQ(place(pod("e", "", 9, 0)), "1");
    EXPECT_EQ(place(pod("f", "", 2, 0)),
              "Insufficient GPU Memory in one device: asked 2Gi, largest free share on a GPU "
              "is 1Gi (1 GPUs that it accepts)");
    EXPECT_EQ(place(pod("g", "mps", 3, 60)),
              "Insufficient GPU compute in one device: asked 3Gi and 60 percent of its compute "
              "(1 GPUs that it accepts)");
    EXPECT_EQ(place(pod("h", "mps", 3, 50)), "0");
}

TEST_F(Modes, TheRefusalSaysWhichKindUsesTheGpus) {
    EXPECT_EQ(place(pod("a", "mps")), "0");
    EXPECT_EQ(place(pod("b", "mps", 14)), "1");
    EXPECT_EQ(place(pod("c", "", 1, 0)),
              "No GPU with the requested isolation: pods with MPS use 2 of this node's 2 GPUs");
    EXPECT_EQ(place(pod("d", "guard")),
              "No GPU with the requested isolation: pods with MPS use 2 of this node's 2 GPUs");
    state_.remove_pod(PodUid("uid-a"));
    EXPECT_EQ(place(pod("c", "", 1, 0)), "0");
    EXPECT_EQ(place(pod("e", "mps", 3)),
              "Insufficient GPU Memory in one device: asked 3Gi and 25 percent of its compute, "
              "largest free share on a GPU is 2Gi (1 GPUs that it accepts)");
    EXPECT_EQ(place(pod("f", "mps"), "n1"),
              "No GPU with the requested isolation: tessera.dev/isolation mps, which this node "
              "does not offer");
    EXPECT_EQ(place(pod("f", "guard"), "n1"),
              "No GPU with the requested isolation: tessera.dev/isolation guard, which this node "
              "does not offer");
    EXPECT_EQ(place(pod("f", ""), "n1"), "0");
}

// Goal: a pod whose memory the driver is to limit gets a GPU where it does, beside pods that the
// guard limits, and not beside those with MPS.
TEST_F(Modes, OnlyGpusWhereTheDriverLimitsMemory) {
    EXPECT_EQ(place(pod("a", "driver")),
              "No GPU with the requested isolation: tessera.dev/isolation driver, which this node "
              "does not offer");
    NodeInventory node = build::node("n2", 2, gibibytes(16));
    node.gpus[1].limits_memory = true;
    state_.set_node(node);
    EXPECT_NE(place(pod("a", "driver"), "n2").find("does not offer"), std::string::npos)
        << "the guard, which limits the compute, is off";
    node.shares = EnforcementMode::guard;
    node.gpus[1].offers_mps = true;
    state_.set_node(node);
    EXPECT_EQ(place(pod("a", "driver"), "n2"), "1");
    EXPECT_EQ(place(pod("b", "guard", 13), "n2"), "1");
    EXPECT_EQ(place(pod("c", "guard", 13), "n2"), "0");
    EXPECT_NE(place(pod("d", "mps"), "n2").find("No GPU with the requested isolation"),
              std::string::npos);
}

// Goal: a pod that is bound again, because its first Binding failed, is not bound to a node that
// lost the ability meanwhile.
TEST_F(Modes, ANodeThatNoLongerLimitsMemory) {
    NodeInventory node = build::node("n2", 1, gibibytes(16));
    node.shares = EnforcementMode::guard;
    node.gpus[0].limits_memory = true;
    state_.set_node(node);
    const PodRequest kept = build::request(pod("a", "driver"));
    const auto made = state_.reserve(kept, NodeName("n2"));
    ASSERT_TRUE(made);
    state_.confirm(made->attempt);
    node.gpus[0].limits_memory = false;
    state_.set_node(node);
    const auto again = state_.reserve(kept, NodeName("n2"));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().text, "tessera.dev/isolation driver, which node n2 does not offer now");
    node.gpus[0].limits_memory = true;
    state_.set_node(node);
    EXPECT_TRUE(state_.reserve(kept, NodeName("n2")));
}

// Goal: a pod that MPS cannot serve is refused before it is placed, with what to write.
TEST_F(Modes, WhatMpsCannotServe) {
    const auto refusal = [](const PodInfo& pod) {
        const auto request = request_of(pod);
        return request ? "" : request.error().text;
    };
    EXPECT_EQ(refusal(pod("a", "mps")), "");
    EXPECT_EQ(refusal(pod("a", "mig")),
              "annotation tessera.dev/isolation: \"mig\" is unknown; write guard, mps or driver");
    EXPECT_NE(refusal(pod("a", "mps", 3, 0)).find("asks for no compute"), std::string::npos);
    PodInfo several = pod("a", "mps");
    several.request->front().gpu.gpus = 2;
    EXPECT_NE(refusal(several).find("asks for shares of 2 GPUs"), std::string::npos);
    PodInfo whole = pod("a", "mps");
    whole.request->front().gpu.memory = {};
    EXPECT_NE(refusal(whole).find("asks for a whole GPU"), std::string::npos);
    PodInfo limited = pod("a", "mps");
    limited.request->front().gpu.cores_limit = {50};
    EXPECT_NE(refusal(limited).find("has a compute limit of 50 percent"), std::string::npos);
    limited.request->front().gpu.cores_limit = {25};
    EXPECT_EQ(refusal(limited), "");
}

// Goal: pods of the other kind are evicted like all others, and a GPU is open to the other kind
// once they are gone.
TEST_F(Modes, PreemptionChangesTheKind) {
    EXPECT_EQ(place(pod("a", "mps")), "0");
    EXPECT_EQ(place(pod("b", "")), "1");
    PodInfo high = pod("high", "mps", 14);
    high.priority = 10;
    const auto snapshot = state_.snapshot();
    const Preemption plan = plan_preemption(*snapshot->find("n0"), build::request(high));
    ASSERT_EQ(plan.kind, Preemption::Kind::evict);
    ASSERT_EQ(plan.victims.size(), 1U);
}

// Goal: while a pod with MPS ends, a pod of the other kind that is nominated to its GPU keeps the
// GPU from pods of both kinds.
TEST_F(Modes, ANomineeKeepsItsGpuFromBothKinds) {
    EXPECT_EQ(place(pod("filler", "", 16)), "0");
    PodInfo ending = pod("ending", "mps", 3);
    EXPECT_EQ(place(ending), "1");
    const auto gpus = state_.snapshot()->find("n0")->assigned_pods[0]->allocation;
    PodInfo nominee = pod("nominee", "", 3);
    nominee.priority = 5;
    nominee.nominated = NodeName("n0");
    state_.set_pod(nominee);
    ending = build::bound(ending, gpus);
    ending.terminating = true;
    state_.set_pod(ending);
    EXPECT_NE(place(pod("b", "mps", 3)), "1");
    EXPECT_NE(place(pod("c", "", 3)), "1");
    state_.remove_pod(ending.uid);
    EXPECT_NE(place(pod("b", "mps", 3)), "1");
    EXPECT_EQ(place(pod("c", "", 3)), "1");
    EXPECT_EQ(place(nominee), "1");
}

}  // namespace
}  // namespace tessera

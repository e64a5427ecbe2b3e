// Links between GPUs, from the annotation to the GPUs that a pod gets.
#include "domain/placement/gpu_sets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "domain/cluster/topology_groups.hpp"
#include "domain/placement/fit_error.hpp"
#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// GPUs of 16 GiB. NVLink joins the pairs 0 and 2, and 1 and 3. GPUs 4 to 7, if `count` is that
// large, are linked each with each. The even and the odd ones are on a NUMA node each.
NodeInventory linked_node(int count) {
    constexpr std::array<std::uint64_t, 8> kPeers = {0x04, 0x08, 0x01, 0x02,
                                                     0xE0, 0xD0, 0xB0, 0x70};
    NodeInventory node = build::node("n", count, gibibytes(16));
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        node.gpus[i].links.nvlink = kPeers.at(i);
        node.gpus[i].links.numa = static_cast<int>(i % 2);
    }
    return node;
}

class Node {
  public:
    explicit Node(int gpus) : Node(linked_node(gpus)) {}
    explicit Node(const NodeInventory& node) { state_.set_node(node); }

    static PodInfo pod(const std::string& name, std::vector<ContainerSpec> containers,
                       const std::string& links = "") {
        PodInfo pod = build::pod(name, std::move(containers));
        pod.gpu_rules.topology = links;
        return pod;
    }
    // "0 2": the GPUs that the pod gets, or why it gets none.
    std::string place(const PodInfo& pod) {
        const auto made = state_.reserve(build::request(pod), NodeName("n"));
        if (!made) return made.error().text;
        state_.set_pod(build::bound(pod, made->allocation));
        std::set<int> gpus;
        for (const ContainerAllocation& container : made->allocation.containers) {
            for (const GpuShare& share : container.gpus)
                gpus.insert(share.index);
        }
        return fmt::format("{}", fmt::join(gpus, " "));
    }
    void end(const std::string& name) { state_.remove_pod(PodUid("uid-" + name)); }
    [[nodiscard]] FitError fit_error(const PodInfo& pod) {
        const PodRequest request = build::request(pod);
        return Explainer(request.containers).explain(state_.snapshot()->find("n")->node_gpus());
    }
    ClusterState& state() { return state_; }

  private:
    ClusterState state_;
};

TEST(GpuSets, SeveralGpusAreNearEachOther) {
    Node node(8);
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "0 2") << "not of the four";
    EXPECT_EQ(node.place(Node::pod("three", build::whole(3))), "4 5 6");
    EXPECT_EQ(node.place(Node::pod("next", build::whole(2))), "1 3");
    EXPECT_EQ(node.place(Node::pod("last", build::whole(1))), "7");
}

// Goal: if no linked GPUs are free, the NUMA node is next, then any GPUs.
TEST(GpuSets, FartherWhereNothingNearerHasRoom) {
    Node node(4);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(3))), "0 1 2");
    node.end("a");
    EXPECT_EQ(node.place(Node::pod("b", build::whole(4))), "0 1 2 3");
    Node numa(8);
    EXPECT_EQ(numa.place(Node::pod("c", build::whole(4))), "4 5 6 7");
    EXPECT_EQ(numa.place(Node::pod("d", build::whole(1))), "0");
    EXPECT_EQ(numa.place(Node::pod("e", build::whole(1))), "2") << "0's pair is broken already";
    numa.end("d");
    numa.end("c");
    EXPECT_EQ(numa.place(Node::pod("f", build::native(gibibytes(10), 3))), "4 5 6");
}

// Goal: single GPUs, and small shares, keep pairs and quads complete.
TEST(GpuSets, OneGpuIsTakenWhereItIsMissedLeast) {
    Node node(8);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("b", build::native(gibibytes(9)))), "2");
    EXPECT_EQ(node.place(Node::pod("c", build::native(gibibytes(9)))), "1");
    auto with_cores = build::native(gibibytes(9));
    with_cores[0].limits.emplace_back("tessera.dev/gpu-cores", "10");
    EXPECT_EQ(node.place(Node::pod("d", with_cores)), "3");
    EXPECT_EQ(node.place(Node::pod("e", build::native(gibibytes(3)))), "1") << "in use first";
    EXPECT_EQ(node.place(Node::pod("quad", build::whole(4), "nvlink")), "4 5 6 7");
}

TEST(GpuSets, InsistOnALink) {
    Node node(4);
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("b", build::native(gibibytes(2), 2), "nvlink")), "1 3");
    const PodInfo late = Node::pod("late", build::whole(2), "nvlink");
    EXPECT_EQ(node.place(late),
              "Insufficient GPU Memory in one device: asked a whole GPU on each of 2 GPUs, 1 of "
              "this node's 4 GPUs have that free");
    node.end("b");
    EXPECT_EQ(node.place(Node::pod("c", build::whole(1), "nvlink")), "2") << "of one GPU: nothing";
    EXPECT_EQ(node.place(Node::pod("d", build::native(gibibytes(2)))), "1");
    EXPECT_EQ(node.place(Node::pod("e", build::native(gibibytes(2), 2), "numa")), "1 3");
}

// Goal: a fit that would be possible without other pods is distinguished from one that never is.
TEST(GpuSets, NeverAndNotNow) {
    Node node(4);
    const FitError never = node.fit_error(Node::pod("p", build::whole(3), "nvlink"));
    EXPECT_TRUE(never.never);
    EXPECT_EQ(never.reason, UnschedulableReason::not_linked);
    EXPECT_EQ(never.message,
              "No GPUs with the requested link: asked 3 GPUs linked by NVLink, at most "
              "2 of this node's 4 GPUs are");
    EXPECT_EQ(node.fit_error(Node::pod("p", build::whole(2), "pcie")).message,
              "No GPUs with the requested link: asked 2 GPUs linked by a PCIe switch, none of this "
              "node's 4 GPUs are");
    EXPECT_EQ(node.place(Node::pod("a", build::whole(1))), "0");
    PodInfo other = Node::pod("b", build::whole(1));
    other.gpu_rules.uuids = "GPU-n-3";
    EXPECT_EQ(node.place(other), "3");
    const FitError now = node.fit_error(Node::pod("p", build::whole(2), "nvlink"));
    EXPECT_FALSE(now.never);
    EXPECT_EQ(now.reason, UnschedulableReason::links);
    EXPECT_EQ(now.message,
              "No GPUs with the requested link: asked 2 GPUs linked by NVLink, 1 of them "
              "have enough free");
    PodInfo barred = Node::pod("p", build::whole(2), "nvlink");
    barred.gpu_rules.uuids = "GPU-n-0, GPU-n-1";
    EXPECT_TRUE(node.fit_error(barred).never) << "0 and 1 are not linked";
}

// Goal: the preference of one container is no reason to refuse another.
TEST(GpuSets, APreferenceRefusesNobody) {
    NodeInventory three = build::node("n", 3, gibibytes(80));
    three.gpus[0].links.nvlink = 0b010;
    three.gpus[1].links.nvlink = 0b001;
    Node node(three);
    for (const char* gpu : {"GPU-n-1", "GPU-n-2"}) {
        PodInfo there = Node::pod(gpu, build::native(gibibytes(70)));
        there.gpu_rules.uuids = gpu;
        node.place(there);
    }
    auto containers = build::native(gibibytes(10), 2);
    containers[0].name = "side";
    containers[0].kind = ContainerKind::sidecar;
    containers.push_back(build::whole(1)[0]);
    EXPECT_EQ(node.place(Node::pod("p", containers)), "0 1 2");
}

// Goal: two GPUs are taken out of one quad, not across two; and of one NUMA node those that NVLink
// joins.
TEST(GpuSets, BreakUpAsLittleAsCanBe) {
    NodeInventory mesh = build::node("n", 8, gibibytes(16));
    for (std::size_t i = 0; i < 8; ++i) {
        const unsigned quad = i < 4 ? 0x0F : 0xF0;
        mesh.gpus[i].links.nvlink = (quad | 1U << ((i + 4) % 8)) & ~(1U << i);
    }
    Node node(mesh);
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "0 1");
    EXPECT_EQ(node.place(Node::pod("more", build::whole(2))), "2 3");
    EXPECT_EQ(node.place(Node::pod("quad", build::whole(4), "nvlink")), "4 5 6 7");

    NodeInventory pairs = build::node("n", 4, gibibytes(16));
    for (std::size_t i = 0; i < 4; ++i) {
        pairs.gpus[i].links.numa = 0;
        pairs.gpus[i].links.nvlink = std::uint64_t{1} << (i ^ 1U);
    }
    Node numa(pairs);
    EXPECT_EQ(numa.place(Node::pod("one", build::whole(1))), "0");
    EXPECT_EQ(numa.place(Node::pod("two", build::whole(2), "numa")), "2 3");
}

// Goal: on a node with one NVSwitch the next nearer links count: PCIe switches, then NUMA nodes.
TEST(GpuSets, BehindOneSwitchTheNearerOnes) {
    NodeInventory all = build::node("n", 8, gibibytes(16));
    for (std::size_t i = 0; i < 8; ++i) {
        all.gpus[i].links = {.numa = static_cast<int>(i / 4),
                             .pcie = std::uint64_t{1} << (i ^ 1U),
                             .nvlink = 0xFFU & ~(1U << i)};
    }
    Node node(all);
    EXPECT_EQ(node.place(Node::pod("one", build::whole(1))), "0");
    EXPECT_EQ(node.place(Node::pod("two", build::whole(2))), "2 3");
    EXPECT_EQ(node.place(Node::pod("single", build::whole(1))), "1");
    EXPECT_EQ(node.place(Node::pod("three", build::whole(3))), "4 5 6");
}

TEST(GpuSets, SayWhatIsMissing) {
    Node node(4);
    for (const int gpu : {0, 1}) {
        PodInfo full = Node::pod(std::to_string(gpu), build::native(gibibytes(16)));
        full.gpu_rules.uuids = "GPU-n-" + std::to_string(gpu);
        node.place(full);
    }
    auto with_cores = build::native(gibibytes(10), 2);
    with_cores[0].limits.emplace_back("tessera.dev/gpu-cores", "50");
    EXPECT_EQ(node.fit_error(Node::pod("p", with_cores, "nvlink")).reason,
              UnschedulableReason::links);
    Node untold(build::node("n", 20, gibibytes(16)));
    EXPECT_EQ(
        untold.fit_error(Node::pod("p", build::whole(2), "nvlink")).message,
        "No GPUs with the requested link: asked 2 GPUs linked by NVLink, this node does not say "
        "how its 20 GPUs are");
}

// Goal: the GPUs of each container of a pod are near each other; different containers may be far
// apart.
TEST(GpuSets, EachContainerForItself) {
    Node node(4);
    auto containers = build::whole(2);
    containers.push_back(build::whole(2)[0]);
    containers[1].name = "side";
    EXPECT_EQ(node.place(Node::pod("a", containers, "nvlink")), "0 1 2 3");
}

// Goal: the victims are pods on linked GPUs, although other pods have a lower priority.
TEST(GpuSets, PreemptionMakesRoomOnLinkedGpus) {
    Node node(4);
    const auto put = [&](const std::string& name, int priority, const std::string& gpu) {
        PodInfo pod = Node::pod(name, build::whole(1));
        pod.priority = priority;
        pod.gpu_rules.uuids = gpu;
        EXPECT_EQ(node.place(pod), gpu.substr(gpu.size() - 1));
    };
    put("zero", 2, "GPU-n-0");
    put("one", 1, "GPU-n-1");
    put("two", 5, "GPU-n-2");
    put("three", 6, "GPU-n-3");
    PodInfo pod = Node::pod("p", build::whole(2), "nvlink");
    pod.priority = 10;
    const auto snapshot = node.state().snapshot();
    const Preemption plan = plan_preemption(*snapshot->find("n"), build::request(pod));
    std::set<std::string> victims;
    for (const AssignedPod* victim : plan.victims)
        victims.insert(victim->name.name);
    EXPECT_EQ(victims, (std::set<std::string>{"zero", "two"}));
}

// Goal: a pod that requires a link gets it, and is refused only if no linked GPUs are free. A pod
// that requires none still gets near GPUs before far ones.
RC_GTEST_PROP(GpuSets, HoldForRandomPods, ()) {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto below = [&](int end) {
        return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    Node node(8);
    const auto topology_groups = topology_groups_of(linked_node(8).gpus);
    std::vector<std::string> there;
    for (int step = 0; step < 60; ++step) {
        if (!there.empty() && below(3) == 0) {
            node.end(there.back());
            there.pop_back();
            continue;
        }
        const std::string name = fmt::format("p{}", step);
        const int count = 1 + below(4);
        const bool insists = below(2) == 0;
        const bool is_whole = below(2) == 0;
        const int gib = 1 + below(12);
        const auto before = node.state().snapshot();
        const NodeInfo& info = *before->find("n");
        const auto has_room = [&](std::size_t gpu) {
            const GpuState& of = info.gpus[gpu];
            return is_whole ? of.pods == 0 : gibibytes(gib) <= of.free();
        };
        bool is_near_possible = false;
        for (const TopologyGroup& topology_group : topology_groups) {
            if (!topology_group.has(Link::nvlink)) continue;
            int room = 0;
            for (std::size_t gpu = 0; gpu < 8; ++gpu)
                room += is_among(topology_group.gpus, gpu) && has_room(gpu) ? 1 : 0;
            is_near_possible = is_near_possible || room >= count;
        }
        const PodInfo pod =
            Node::pod(name, is_whole ? build::whole(count) : build::native(gibibytes(gib), count),
                      insists ? "nvlink" : "");
        const std::string given = node.place(pod);
        const bool is_placed = given.size() < 10;
        if (is_placed) there.push_back(name);
        if (count == 1) continue;
        if (insists) RC_ASSERT(is_placed == is_near_possible);
        if (!is_placed) continue;
        GpuMask gpus = 0;
        for (const char c : given)
            if (c != ' ') gpus |= GpuMask{1} << static_cast<unsigned>(c - '0');
        RC_ASSERT(std::popcount(gpus) == count);
        const bool is_near =
            std::ranges::any_of(topology_groups, [&](const TopologyGroup& topology_group) {
                return topology_group.has(Link::nvlink) && (gpus & ~topology_group.gpus) == 0;
            });
        RC_ASSERT(is_near == is_near_possible);
    }
}

// Goal: a pod that requires no link is placed wherever it would be without links.
RC_GTEST_PROP(GpuSets, RefuseNobodyWhoDoesNotInsist, ()) {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto below = [&](int end) {
        return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    NodeInventory with = build::node("n", 6, gibibytes(16));
    for (Gpu& gpu : with.gpus) {
        gpu.links = {.numa = below(2),
                     .pcie = static_cast<std::uint64_t>(below(64)),
                     .nvlink = static_cast<std::uint64_t>(below(64))};
    }
    ClusterState state;
    state.set_node(with);
    for (int i = 0; i < 4; ++i) {
        PodInfo there = build::pod(std::to_string(i), build::native(gibibytes(1 + below(16))));
        there.gpu_rules.uuids = fmt::format("GPU-n-{}", below(6));
        const auto made = state.reserve(build::request(there), NodeName("n"));
        if (made) state.set_pod(build::bound(there, made->allocation));
    }
    const auto snapshot = state.snapshot();
    std::vector<ContainerSpec> containers;
    for (int i = 0; i <= below(3); ++i) {
        const int count = 1 + below(4);
        auto container = below(3) == 0 ? build::whole(count)[0]
                                       : build::native(gibibytes(1 + below(12)), count)[0];
        container.name = std::to_string(i);
        if (below(3) == 0) container.kind = ContainerKind::sidecar;
        containers.push_back(container);
    }
    std::ranges::stable_partition(containers, [](const ContainerSpec& container) {
        return container.kind == ContainerKind::sidecar;
    });
    const PodRequest pod = build::request(build::pod("p", containers));
    const NodeGpus node_gpus = snapshot->find("n")->node_gpus();
    NodeGpus without = node_gpus;
    without.topology_groups = {};
    Placer near(pod.containers);
    Placer plain(pod.containers);
    RC_ASSERT((near.try_node(node_gpus) != nullptr) || (plain.try_node(without) == nullptr));
}

}  // namespace
}  // namespace tessera

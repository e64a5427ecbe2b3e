#include "app/scheduler/gang/gangs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <set>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

// Nodes "n0", "n1" ... of two GPUs of 16 GiB, and gangs of pods that request 6 GiB each: four fit
// on a node.
class Cluster {
  public:
    explicit Cluster(int nodes) {
        for (int i = 0; i < nodes; ++i) {
            names_.push_back(fmt::format("n{}", i));
            change_state([&](ClusterState& state) {
                state.set_node(build::node(names_.back(), 2, gibibytes(16)));
            });
        }
    }

    void add_node(const NodeInventory& node) {
        names_.push_back(node.name.str());
        change_state([&](ClusterState& state) { state.set_node(node); });
    }
    void change_state(const std::function<void(ClusterState&)>& function) {
        cache_.call([&](ClusterState& state) {
            function(state);
            return 0;
        });
    }

    PodInfo add(const std::string& gang, int number, int size, int gib = 6) {
        PodInfo pod = build::pod(fmt::format("{}-{}", gang, number), build::native(gibibytes(gib)));
        pod.gang = GangMembership{gang, size};
        change_state([&](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    std::vector<PodInfo> add_gang(const std::string& gang, int size, int gib = 6) {
        std::vector<PodInfo> pods;
        for (int i = 0; i < size; ++i)
            pods.push_back(add(gang, i, size, gib));
        return pods;
    }

    FilterAnswer filter(const PodInfo& pod) {
        ExtenderArgs args;
        args.pod = pod;
        args.names.assign(names_.begin(), names_.end());
        FilterAnswer answer = gangs_.filter(args, build::request(pod));
        // In every test here: an answer without nodes has a reason for each node.
        if (answer.fitting.empty()) {
            EXPECT_EQ(answer.failed.size() + answer.unresolvable.size(), names_.size())
                << pod.name.str();
        }
        return answer;
    }
    // Binds as kube-scheduler does: at once, on the node that the filter gives.
    bool try_bind(const PodInfo& pod) {
        const FilterAnswer answer = filter(pod);
        if (answer.fitting.empty()) return false;
        const NodeName node(names_.at(answer.fitting.front()));
        bool is_bound = false;
        change_state([&](ClusterState& state) {
            const auto made = state.reserve(build::request(pod), node);
            is_bound = made.has_value();
            if (made) state.set_pod(build::bound(pod, made->allocation));
        });
        if (is_bound) bound_.insert(pod.uid);
        return is_bound;
    }
    void end(const PodInfo& pod) {
        change_state([&](ClusterState& state) { state.remove_pod(pod.uid); });
        bound_.erase(pod.uid);
    }
    std::size_t bound_of(const std::vector<PodInfo>& pods) {
        return static_cast<std::size_t>(std::ranges::count_if(
            pods, [&](const PodInfo& pod) { return bound_.contains(pod.uid); }));
    }
    std::size_t reserved() {
        std::size_t count = 0;
        change_state([&](ClusterState& state) {
            for (const auto& node : state.snapshot()->nodes())
                count += node->nominees.size();
        });
        return count;
    }
    void pass(std::chrono::nanoseconds time) {
        clock_.advance(time);
        gangs_.reconcile();
    }

  private:
    std::vector<std::string> names_;
    ClusterCache cache_{[] {}};
    FakeClock clock_;
    Gangs gangs_{cache_, nullptr, clock_};
    std::set<PodUid> bound_;
};

std::string reason(const FilterAnswer& answer) {
    return answer.failed.empty() ? "" : answer.failed.front().reason;
}

// Goal: reservations are found whichever pod is asked about first: pods that require certain GPUs
// choose first.
TEST(Gangs, TheHardestToPlaceChooseFirst) {
    Cluster cluster(0);
    NodeInventory node = build::node("n", 4, gibibytes(16));
    node.gpus[0].links.nvlink = 0b0010;
    node.gpus[1].links.nvlink = 0b0001;
    cluster.add_node(node);
    PodInfo any = build::pod("g-0", build::whole(2));
    PodInfo linked = build::pod("g-1", build::whole(2));
    linked.gpu_rules.topology = "nvlink";
    for (PodInfo* pod : {&any, &linked}) {
        pod->gang = GangMembership{"g", 2};
        cluster.change_state([&](ClusterState& state) { state.set_pod(*pod); });
    }
    EXPECT_EQ(cluster.filter(any).fitting.size(), 1U);
    EXPECT_TRUE(cluster.try_bind(any));
    EXPECT_TRUE(cluster.try_bind(linked));
}

// Goal: the size in Kubernetes' own PodGroup counts, once it is known. If it sets no gang size,
// each pod is placed alone.
TEST(Gangs, SizesOfPodGroups) {
    Cluster cluster(2);
    const auto pods = cluster.add_gang("blue", 3, 6);
    std::vector<PodInfo> group;
    for (int i = 0; i < 3; ++i)
        group.push_back(cluster.add("group", i, 0));
    EXPECT_FALSE(cluster.try_bind(group[0]));
    const FilterAnswer unknown = cluster.filter(group[0]);
    ASSERT_EQ(unknown.failed.size(), 2U);
    EXPECT_EQ(unknown.failed[0].reason,
              "there is no PodGroup group yet, which says how many pods are placed together");
    const auto says = [&](int count) {
        cluster.change_state(
            [&](ClusterState& state) { state.set_pod_group({{"default", "group"}, count}); });
    };
    says(4);
    EXPECT_EQ(cluster.filter(group[0]).failed[0].reason,
              "gang group waits for its pods: 3 of 4 are there");
    says(3);
    for (const PodInfo& pod : group)
        EXPECT_TRUE(cluster.try_bind(pod)) << pod.name.str();
    const PodInfo lonely = cluster.add("basic", 0, 0);
    cluster.change_state(
        [](ClusterState& state) { state.set_pod_group({{"default", "basic"}, 0}); });
    EXPECT_TRUE(cluster.try_bind(lonely));
    cluster.change_state([](ClusterState& state) { state.keep_only_pod_groups({}); });
    EXPECT_FALSE(cluster.try_bind(cluster.add("basic", 1, 0))) << "its PodGroup is gone";
}

// Goal: no pod passes before all pods exist and fit. Then each passes to its own reservation, in
// any order.
TEST(Gangs, AllOrNone) {
    Cluster cluster(2);
    auto pods = cluster.add_gang("a", 7);
    pods.push_back(build::pod("a-7", build::native(gibibytes(6))));
    pods[7].gang = GangMembership{"a", 8};
    for (int i = 0; i < 7; ++i)
        pods[static_cast<std::size_t>(i)] = cluster.add("a", i, 8);
    EXPECT_FALSE(cluster.try_bind(pods[3]));
    EXPECT_EQ(reason(cluster.filter(pods[3])), "gang a waits for its pods: 7 of 8 are there");
    EXPECT_EQ(cluster.reserved(), 0U);
    pods[7] = cluster.add("a", 7, 8);
    EXPECT_TRUE(cluster.try_bind(pods[7]));
    EXPECT_EQ(cluster.reserved(), 7U);
    for (const std::size_t i : {3U, 0U, 6U, 1U, 2U, 5U, 4U})
        EXPECT_TRUE(cluster.try_bind(pods[i])) << i;
    EXPECT_EQ(cluster.reserved(), 0U);
}

// Goal: a gang that waits for pods says which of its pods do not count, and why. A pod that is gone
// is not mentioned.
TEST(Gangs, NameWhoDoesNotCount) {
    Cluster cluster(2);
    const PodInfo first = cluster.add("a", 0, 6);
    const auto add_aside = [&](int number, const std::function<void(PodInfo&)>& change) {
        PodInfo pod = build::pod(fmt::format("a-{}", number), build::native(gibibytes(6)));
        pod.gang = GangMembership{"a", 6};
        change(pod);
        cluster.change_state([&](ClusterState& state) { state.set_pod(pod); });
        return pod;
    };
    PodInfo gated = add_aside(1, [](PodInfo& pod) { pod.gated = true; });
    add_aside(2, [](PodInfo& pod) { pod.gpu_rules.topology = "wire"; });
    const PodInfo sizeless = add_aside(3, [](PodInfo& pod) {
        pod.gang_named = "a";
        pod.gang = fail(Code::invalid_argument, "tessera.dev/gang-size is \"\"");
    });
    EXPECT_EQ(
        reason(cluster.filter(first)),
        "gang a waits for its pods: 1 of 6 are there; a-1 does not count: it has scheduling "
        "gates; a-2 does not count: annotation tessera.dev/gpu-topology: \"wire\" is no kind of "
        "link; write nvlink, pcie or numa; a-3 does not count: tessera.dev/gang-size is "
        "\"\"");
    add_aside(4, [](PodInfo& pod) { pod.terminating = true; });
    EXPECT_NE(reason(cluster.filter(first)).find("; 1 more do not count"), std::string::npos);
    gated.gated = false;
    cluster.change_state([&](ClusterState& state) {
        state.set_pod(gated);
        state.remove_pod(sizeless.uid);
        state.keep_only_pods({first.uid, gated.uid});
    });
    EXPECT_EQ(reason(cluster.filter(first)), "gang a waits for its pods: 2 of 6 are there");
}

// Goal: pods that disagree on the size of their gang say so, whether the gang waits for more pods
// or does not fit. A known reason for one size is not given for the other.
TEST(Gangs, NameSizesThatDiffer) {
    Cluster cluster(1);
    const PodInfo small = cluster.add("a", 0, 5);
    const PodInfo large = cluster.add("a", 1, 6);
    for (int i = 2; i < 5; ++i)
        cluster.add("a", i, 5);
    EXPECT_EQ(reason(cluster.filter(large)),
              "gang a waits for its pods: 5 of 6 are there; its pods do not agree on its size: 5, "
              "6");
    EXPECT_EQ(reason(cluster.filter(small)),
              "gang a is placed as a whole: 4 of its 5 pods find room now, a-4 does not; its pods "
              "do not agree on its size: 5, 6");
    const PodInfo least = cluster.add("a", 5, 4);
    EXPECT_NE(reason(cluster.filter(small)).find("4 of its 5 pods"), std::string::npos);
    EXPECT_EQ(cluster.filter(least).fitting.size(), 1U);
}

// Goal: a gang that does not fit gets no reservations, and says how many of its pods would fit.
TEST(Gangs, NoneWhereNotAllFit) {
    Cluster cluster(2);
    const auto pods = cluster.add_gang("a", 9);
    for (const PodInfo& pod : pods)
        EXPECT_FALSE(cluster.try_bind(pod));
    EXPECT_EQ(reason(cluster.filter(pods[0])),
              "gang a is placed as a whole: 8 of its 9 pods find room now, a-8 does not");
    EXPECT_EQ(cluster.reserved(), 0U);
}

// Goal: no other pod takes a gang's reservations; other pods take what the gang does not need.
TEST(Gangs, OthersKeepOut) {
    Cluster cluster(2);
    const auto pods = cluster.add_gang("a", 8);
    EXPECT_TRUE(cluster.try_bind(pods[0]));
    PodInfo other = build::pod("other", build::native(gibibytes(6)));
    cluster.change_state([&](ClusterState& state) {
        state.set_pod(other);
        EXPECT_FALSE(state.reserve(build::request(other), NodeName("n0")));
        EXPECT_FALSE(state.reserve(build::request(other), NodeName("n1")));
    });
    PodInfo small = build::pod("small", build::native(gibibytes(4)));
    cluster.change_state([&](ClusterState& state) {
        EXPECT_TRUE(state.reserve(build::request(small), NodeName("n0")));
    });
    for (std::size_t i = 1; i < 8; ++i)
        EXPECT_TRUE(cluster.try_bind(pods[i])) << i;
}

// Goal: two gangs that fit one at a time are placed one after the other, never half, in whatever
// order their pods are asked for.
RC_GTEST_PROP(Gangs, NeverHalf, ()) {
    Cluster cluster(2);
    const std::vector<std::vector<PodInfo>> gangs = {cluster.add_gang("a", 8),
                                                     cluster.add_gang("b", 8)};
    const auto order = *rc::gen::container<std::vector<int>>(64, rc::gen::inRange(0, 16));
    for (const int which : order) {
        const auto& gang = gangs.at(static_cast<std::size_t>(which / 8));
        const PodInfo& pod = gang.at(static_cast<std::size_t>(which % 8));
        cluster.try_bind(pod);
        const std::size_t a = cluster.bound_of(gangs[0]);
        const std::size_t b = cluster.bound_of(gangs[1]);
        RC_ASSERT(a == 0 || b == 0);
        // Once one pod of a gang is bound, the others have reservations.
        RC_ASSERT(a + b + cluster.reserved() == 0 || a + b + cluster.reserved() == 8);
    }
    for (const auto& gang : gangs) {
        for (const PodInfo& pod : gang)
            cluster.try_bind(pod);
    }
    const std::size_t first = cluster.bound_of(gangs[0]) == 8 ? 0 : 1;
    RC_ASSERT(cluster.bound_of(gangs[first]) == 8);
    for (const PodInfo& pod : gangs[first])
        cluster.end(pod);
    for (const PodInfo& pod : gangs[1 - first])
        RC_ASSERT(cluster.try_bind(pod));
}

// Goal: unused reservations are given up, and other gangs have their turn before this one is tried
// again.
TEST(Gangs, GivesUpInTime) {
    Cluster cluster(2);
    const auto first = cluster.add_gang("a", 8);
    const auto second = cluster.add_gang("b", 8);
    EXPECT_EQ(cluster.filter(first[0]).fitting.size(), 1U);
    EXPECT_FALSE(cluster.try_bind(second[0]));
    cluster.pass(Gangs::kPatience - std::chrono::seconds(1));
    EXPECT_EQ(cluster.reserved(), 8U);
    cluster.pass(std::chrono::seconds(1));
    EXPECT_EQ(cluster.reserved(), 0U);
    EXPECT_FALSE(cluster.try_bind(first[0]));
    for (const PodInfo& pod : second)
        EXPECT_TRUE(cluster.try_bind(pod));
    for (const PodInfo& pod : second)
        cluster.end(pod);
    cluster.pass(Gangs::kRest);
    for (const PodInfo& pod : first)
        EXPECT_TRUE(cluster.try_bind(pod));
}

// Goal: a new pod in place of one that ended finds its gang placed, and needs only its own GPUs. So
// does a pod beyond the gang's size.
TEST(Gangs, OneMoreOfAGangThatRuns) {
    Cluster cluster(2);
    const auto pods = cluster.add_gang("a", 4);
    for (const PodInfo& pod : pods)
        EXPECT_TRUE(cluster.try_bind(pod));
    cluster.end(pods[2]);
    EXPECT_TRUE(cluster.try_bind(cluster.add("a", 4, 4)));
    EXPECT_TRUE(cluster.try_bind(cluster.add("a", 5, 4)));
    EXPECT_EQ(cluster.reserved(), 0U);
}

// Goal: a gang has more pods than its size, and as many as its size run. An additional pod loses
// its reservation with its node: it is then placed like any pod, or gets the reasons.
TEST(Gangs, OneMoreLosesItsReservation) {
    Cluster cluster(2);
    const auto pods = cluster.add_gang("a", 3);
    EXPECT_TRUE(cluster.try_bind(pods[0]));
    const PodInfo more = cluster.add("a", 3, 3);
    NodeName reserved_on;
    const auto keep = [&] {
        cluster.change_state([&](ClusterState& state) {
            reserved_on = reserved_on.empty() ? NodeName("n1") : reserved_on;
            EXPECT_TRUE(state.reserve_node(more.uid, reserved_on, ReservedBy::preemption));
        });
    };
    keep();
    EXPECT_TRUE(cluster.try_bind(pods[1]));
    EXPECT_TRUE(cluster.try_bind(pods[2]));
    const auto set_gpus = [&](bool healthy) {
        for (const char* name : {"n0", "n1"}) {
            NodeInventory node = build::node(name, 2, gibibytes(16));
            for (Gpu& gpu : node.gpus) {
                gpu.condition = healthy ? GpuCondition::healthy : GpuCondition::unhealthy;
                if (!healthy) gpu.reason = "xid 79";
            }
            cluster.change_state([&](ClusterState& state) { state.set_node(node); });
        }
    };
    set_gpus(false);
    EXPECT_NE(reason(cluster.filter(more)), "");
    EXPECT_EQ(cluster.reserved(), 0U);
    set_gpus(true);
    keep();
    cluster.change_state([](ClusterState& state) { state.remove_node(NodeName("n1")); });
    EXPECT_TRUE(cluster.try_bind(more));
}

// Goal: whatever happens to pods, nodes and reservations meanwhile, an answer without nodes has a
// reason for each node (Cluster::filter checks this).
RC_GTEST_PROP(Gangs, NeverWithoutReasons, ()) {
    Cluster cluster(2);
    std::vector<PodInfo> pods = cluster.add_gang("a", 3);
    for (int i = 3; i < 6; ++i)
        pods.push_back(cluster.add("a", i, 3));
    const auto steps = *rc::gen::container<std::vector<int>>(48, rc::gen::inRange(0, 24));
    for (const int step : steps) {
        const PodInfo& pod = pods.at(static_cast<std::size_t>(step % 6));
        const NodeName node(step % 2 == 0 ? "n0" : "n1");
        if (step < 8) {
            cluster.try_bind(pod);
        } else if (step < 12) {
            cluster.filter(pod);
        } else if (step < 15) {
            cluster.change_state([&](ClusterState& state) {
                state.reserve_node(pod.uid, node, ReservedBy::preemption);
            });
        } else if (step < 18) {
            cluster.change_state([&](ClusterState& state) { state.remove_node(node); });
        } else if (step < 22) {
            NodeInventory back = build::node(node.str(), 2, gibibytes(16));
            if (step == 18) back.gpus[0].condition = GpuCondition::unhealthy;
            cluster.change_state([&](ClusterState& state) { state.set_node(back); });
        } else {
            cluster.end(pod);
            cluster.change_state([&](ClusterState& state) { state.set_pod(pod); });
        }
    }
}

// Goal: the CPU of a node limits how many pods of a gang it takes, whatever its GPUs have free.
TEST(Gangs, CountTheHost) {
    Cluster cluster(1);
    cluster.change_state([](ClusterState& state) {
        NodeInventory node = build::node("n0", 2, gibibytes(16));
        node.host = {4'000, gibibytes(64)};
        state.set_node(node);
    });
    std::vector<PodInfo> pods = cluster.add_gang("a", 4);
    for (PodInfo& pod : pods) {
        pod.host = {1'500, gibibytes(1)};
        cluster.change_state([&](ClusterState& state) { state.set_pod(pod); });
    }
    EXPECT_FALSE(cluster.try_bind(pods[0]));
    EXPECT_EQ(reason(cluster.filter(pods[0])),
              "gang a is placed as a whole: 2 of its 4 pods find room now, a-2 does not");
}

}  // namespace
}  // namespace tessera

// Goal: a plan is carried out one pod after the other, and the cluster is read after each. If the
// plan fails, the user learns why, and no further pod is evicted. Method: nodes with one GPU of 16
// GiB, and a scheduler that puts new pods where the test says.
#include "app/cli/defrag.hpp"

#include <gtest/gtest.h>

#include "app/cli/defrag_text.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_defrag_cluster.hpp"
#include "testing/fakes/last_scorer.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;

class DefragCommandTest : public testing::Test {
  protected:
    DefragCommandTest() {
        for (const char* name : {"a", "b", "c"})
            cluster_.objects().nodes.push_back(build::node(name, 1, gibibytes(16)));
        put("x", "a", 4);
        put("y", "b", 6);
        put("z", "c", 8, false);
        cluster_.on_evict([this](const PodUid& uid) { return end(uid); });
    }

    void put(const std::string& name, const std::string& node, int gib, bool movable = true) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        const Gpu& gpu = build::gpu(node, 0, gibibytes(16));
        cluster_.put(
            build::bound(
                pod, build::allocation(pod, node, {{.uuid = gpu.uuid, .memory = gibibytes(gib)}})),
            {.labels = {{"app", name.substr(0, 1)}},
             .owner = defrag::Owner{"ReplicaSet", name.substr(0, 1), "rs-" + name.substr(0, 1)},
             .allowed = movable});
    }
    // The pod is gone after a second, and its controller's new pod is on `next_`.
    Result<> end(const PodUid& uid) {
        const auto of = std::ranges::find(cluster_.objects().pods, uid, &PodInfo::uid)->name.name;
        clock_.on_sleep([this, uid, of, done = false]() mutable {
            if (std::exchange(done, true)) return;
            cluster_.remove(uid);
            if (!next_.empty()) put(of + "2", next_, of == "x" ? 4 : 6);
        });
        return {};
    }
    void put_waiting() {
        cluster_.put(build::pod("waits", build::whole()), {});
        request_.pod = PodName{"default", "waits"};
    }
    DefragAnswer planned() {
        auto answer = plan_defrag(cluster_, request_, predicted_);
        EXPECT_TRUE(answer) << answer.error().text;
        return answer ? *std::move(answer) : DefragAnswer{};
    }
    Result<> apply() {
        const DefragAnswer answer = planned();
        return apply_defrag(cluster_, clock_,
                            {.request = request_,
                             .plan = std::get<defrag::Plan>(answer.found),
                             .gpus_wanted = answer.gpus_wanted,
                             .timeout = timeout_,
                             .say = [this](const std::string& line) { said_ += line + "\n"; }},
                            predicted_);
    }
    Error stopped() {
        const auto applied = apply();
        EXPECT_FALSE(applied) << said_;
        return applied ? Error{} : applied.error();
    }

    FakeDefragCluster cluster_;
    FakeClock clock_;
    DefragRequest request_;
    Predicted predicted_ = [](const defrag::ClusterObjects&) {
        return [](const PodRequest& pod) -> std::shared_ptr<const NodeScorer> {
            if (pod.policy != "spread") return nullptr;
            return std::make_shared<const LastScorer>();
        };
    };
    std::string next_ = "c";
    seconds timeout_{5};
    std::string said_;
};

TEST_F(DefragCommandTest, ShowsThePlan) {
    EXPECT_EQ(defrag_text(request_, planned()),
              "MOVE  POD        NODE  GPU  SIZE  WOULD GO TO  GPU\n"
              "1     default/x  a     0    4Gi   c            0\n"
              "\n"
              "Free whole GPUs: 0 now, 1 after. Largest free memory on a GPU: 12Gi now, 16Gi "
              "after.\n"
              "This is the minimum number of moves, provided each pod moves once and leaves all of "
              "its current GPUs.\n"
              "Each move evicts a pod, and its controller creates a new one. The plan shows where "
              "the new pod would be placed now.\n");
    const std::string json = defrag_json(request_, planned());
    EXPECT_NE(json.find(R"("moves":[{"namespace":"default","name":"x","uid":"uid-x",)"
                        R"("bytes":4294967296,"from":{"node":"a","gpus":[0]},)"
                        R"("wouldFit":{"node":"c","gpus":[0]}}])"),
              std::string::npos)
        << json;
    put_waiting();
    EXPECT_NE(defrag_text(request_, planned()).find("Pod default/waits then fits on node a."),
              std::string::npos);
    EXPECT_TRUE(cluster_.evicted().empty());
}

// Goal: each pod is planned by its own policy, at first and when planning again. Method: the best
// fit would leave y where it is.
TEST_F(DefragCommandTest, GoesByThePolicyOfEachPod) {
    cluster_.objects().nodes.push_back(build::node("d", 1, gibibytes(16)));
    put("u", "c", 4, false);
    put("w", "d", 1, false);
    const auto to = [&] {
        const DefragAnswer answer = planned();
        const auto* plan = std::get_if<defrag::Plan>(&answer.found);
        return plan == nullptr ? "" : plan->moves.front().to.str();
    };
    EXPECT_EQ(to(), "c") << "the best fit for x";
    for (const char* uid : {"uid-x", "uid-y"})
        std::ranges::find(cluster_.objects().pods, PodUid(uid), &PodInfo::uid)->policy = "spread";
    EXPECT_EQ(to(), "d");
    request_.gpus = 2;
    next_ = "d";
    const auto applied = apply();
    EXPECT_TRUE(applied) << applied.error().text << said_;
    EXPECT_EQ(cluster_.evicted().size(), 2U);
}

TEST_F(DefragCommandTest, SaysWhyThereIsNoPlan) {
    request_.gpus = 3;
    EXPECT_EQ(defrag_text(request_, planned()),
              "No plan: 3 more whole GPUs are asked for, and without the 2 pods that may be moved "
              "there would be 2 more.\n"
              "Pods that stay:\n"
              "  1: no annotation tessera.dev/movable: \"true\"\n");
    EXPECT_NE(defrag_json(request_, planned()).find(R"("found":false,"reason":"3 more)"),
              std::string::npos);
}

TEST_F(DefragCommandTest, MovesOneAfterTheOther) {
    request_.gpus = 2;
    cluster_.on_evict([this](const PodUid& uid) {
        EXPECT_EQ(std::ranges::count(cluster_.objects().states, Labels{{"app", "x"}},
                                     &defrag::PodState::labels),
                  1);
        if (uid.str() == "uid-y") next_ = "a";
        return end(uid);
    });
    cluster_.objects().nodes.push_back(build::node("d", 1, gibibytes(7)));
    put("w", "d", 1, false);
    next_ = "d";
    const auto applied = apply();
    ASSERT_FALSE(applied) << "y goes to node a, the GPU of which was to be freed";
    EXPECT_EQ(cluster_.evicted().size(), 2U);
    EXPECT_NE(said_.find("2 moves left: evicting pod default/x (node a, GPU 0, 4Gi)\n"
                         "pod default/x is gone; ReplicaSet x created pod x2, which is on node d\n"
                         "1 move left: evicting pod default/y (node b, GPU 0, 6Gi)\n"),
              std::string::npos)
        << said_;
    EXPECT_EQ(applied.error().code, Code::conflict);
    EXPECT_NE(applied.error().text.find("2 pods were evicted"), std::string::npos);
}

TEST_F(DefragCommandTest, MakesRoomAndSeesThePodPlaced) {
    put_waiting();
    bool moved = false;
    clock_.on_sleep({});
    cluster_.on_evict([&](const PodUid& uid) {
        clock_.on_sleep([this, uid, &moved] {
            if (!std::exchange(moved, true)) {
                cluster_.remove(uid);
                put("x2", "c", 4);
                return;
            }
            const PodInfo waits = build::pod("waits", build::whole());
            cluster_.put(build::bound(waits, build::allocation(waits, "a",
                                                               {{.uuid = GpuUuid("GPU-a-0"),
                                                                 .memory = gibibytes(16),
                                                                 .whole = true}})),
                         {});
        });
        return Result<>();
    });
    const auto applied = apply();
    ASSERT_TRUE(applied) << applied.error().text;
    EXPECT_NE(said_.find("done: pod default/waits is on node a, 1 pod was evicted"),
              std::string::npos)
        << said_;
}

// Goal: whatever interrupts the plan is reported, with what was done; no further pod is evicted.
TEST_F(DefragCommandTest, Stops) {
    next_ = "a";
    EXPECT_EQ(stopped().text,
              "stopped: 1 move still needed, no fewer than before; the scheduler used the GPUs "
              "that were freed, or the cluster changed; 1 pod was evicted so far");
    EXPECT_EQ(cluster_.evicted().size(), 1U);
}

TEST_F(DefragCommandTest, StopsWhereABudgetRefuses) {
    cluster_.on_evict([](const PodUid&) -> Result<> {
        return fail(Code::conflict, "Cannot evict pod. The disruption budget b needs 1");
    });
    EXPECT_EQ(stopped(), (Error{Code::conflict,
                                "stopped, 0 pods were evicted: pod default/x was not evicted: "
                                "Cannot evict pod. The disruption budget b needs 1"}));
}

// Goal: after planning for long in a large cluster, the command pauses for as long before it plans
// again, within the time that is left. Method: each read takes 4 seconds.
TEST_F(DefragCommandTest, RestsForAsLongAsALookTakes) {
    timeout_ = seconds(14);
    std::vector<std::chrono::nanoseconds> looks;
    bool is_evicted = false;
    const Predicted quickly = predicted_;
    predicted_ = [&](const defrag::ClusterObjects& now) {
        if (is_evicted) {
            looks.push_back(clock_.steady());
            clock_.advance(seconds(4));
        }
        return quickly(now);
    };
    cluster_.on_evict([&](const PodUid& uid) {
        is_evicted = true;
        for (defrag::PodState& pod : cluster_.objects().states)
            pod.allowed = false;  // nothing more can be gained
        return end(uid);
    });
    request_.gpus = 2;
    cluster_.objects().nodes.push_back(build::node("d", 1, gibibytes(10)));
    put("w", "d", 1, false);
    EXPECT_FALSE(apply());
    ASSERT_FALSE(looks.empty());
    const auto first = looks.front();
    EXPECT_EQ(looks, (std::vector{first, first + seconds(8), first + seconds(14)}));
}

TEST_F(DefragCommandTest, StopsWhereNoNewPodComes) {
    next_.clear();
    const Error error = stopped();
    EXPECT_EQ(error.code, Code::unavailable);
    EXPECT_NE(error.text.find("pod default/x is gone, and no new pod of ReplicaSet x is on a node "
                              "within 5 s"),
              std::string::npos)
        << error.text;
    cluster_.on_evict({});
    clock_.on_sleep({});
    EXPECT_NE(stopped().text.find("pod default/y has not ended within 5 s"), std::string::npos);
}

// Goal: a budget that is used up by the eviction just made is waited for.
TEST_F(DefragCommandTest, WaitsForABudget) {
    request_.gpus = 2;
    cluster_.objects().nodes.push_back(build::node("d", 1, gibibytes(12)));
    put("w", "d", 1, false);
    auto& budgets = cluster_.objects().budgets;
    budgets.push_back({{"default", "b"}, std::vector<LabelTerm>{}, 1});
    int sleeps = 0;
    cluster_.on_evict([&](const PodUid& uid) {
        const bool is_x = uid.str() == "uid-x";
        cluster_.objects().budgets.front().allowed = 0;
        clock_.on_sleep([this, &sleeps, uid, is_x, done = false]() mutable {
            if (++sleeps == 3) cluster_.objects().budgets.front().allowed = 1;
            if (std::exchange(done, true)) return;
            cluster_.remove(uid);
            put(is_x ? "x2" : "y2", is_x ? "c" : "d", is_x ? 4 : 6);
        });
        return Result<>();
    });
    const auto applied = apply();
    ASSERT_TRUE(applied) << applied.error().text << said_;
    EXPECT_NE(said_.find("done: 2 whole GPUs are free, 2 pods were evicted"), std::string::npos)
        << said_;
    EXPECT_EQ(sleeps, 4);
}

// Goal: a pod that was evicted by another user is not a failure, nor is a server that is briefly
// unavailable.
TEST_F(DefragCommandTest, WhatElseMayComeBetween) {
    cluster_.on_evict([this](const PodUid& uid) -> Result<> {
        cluster_.remove(uid);
        cluster_.fail_next_read({Code::unavailable, "no answer"});
        return fail(Code::not_found, "gone");
    });
    const auto applied = apply();
    ASSERT_TRUE(applied) << applied.error().text;
    EXPECT_NE(said_.find("done: 1 whole GPU is free, 0 pods were evicted"), std::string::npos);
}

TEST_F(DefragCommandTest, WhatCannotBeAsked) {
    request_.pod = PodName{"default", "missing"};
    EXPECT_EQ(plan_defrag(cluster_, request_, predicted_).error().code, Code::not_found);
    request_.pod = PodName{"default", "x"};
    EXPECT_EQ(plan_defrag(cluster_, request_, predicted_).error(),
              (Error{Code::conflict, "pod default/x is on a node already"}));
    cluster_.fail_next_read({Code::permission_denied, "no"});
    EXPECT_EQ(plan_defrag(cluster_, request_, predicted_).error().code, Code::permission_denied);
}

}  // namespace
}  // namespace tessera

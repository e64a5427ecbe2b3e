#include "domain/placement/victims.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

// A pod on a GPU of node "n".
struct Here {
    int gpu;
    int gib;
    int priority;
    bool terminating = false;
};

// A node of GPUs of 16 GiB with these pods, "0", "1" …
class Node {
  public:
    Node(int gpus, const std::vector<Here>& pods) {
        state_.set_node(build::node("n", gpus, gibibytes(16)));
        for (const Here& here : pods) {
            PodInfo pod = build::pod(std::to_string(count_++), build::native(gibibytes(here.gib)));
            pod.priority = here.priority;
            pod.terminating = here.terminating;
            const GpuUuid uuid(fmt::format("GPU-n-{}", here.gpu));
            state_.set_pod(build::bound(
                pod,
                build::allocation(pod, "n", {{uuid, here.gpu, gibibytes(here.gib), {}, false}})));
        }
        snapshot_ = state_.snapshot();
    }
    [[nodiscard]] const NodeInfo& info() const { return *snapshot_->find("n"); }
    [[nodiscard]] Preemption plan(const std::vector<ContainerSpec>& asked, int priority) const {
        PodInfo pod = build::pod("p", asked);
        pod.priority = priority;
        return plan_preemption(info(), build::request(pod));
    }

  private:
    ClusterState state_;
    int count_ = 0;
    std::shared_ptr<const Snapshot> snapshot_;
};

using Names = std::vector<std::string>;
Names names(const Preemption& plan) {
    Names out;
    for (const AssignedPod* victim : plan.victims)
        out.push_back(victim->name.name);
    return out;
}

constexpr auto kEvict = Preemption::Kind::evict;
constexpr auto kFits = Preemption::Kind::fits;
constexpr auto kSoon = Preemption::Kind::soon;
constexpr auto kNever = Preemption::Kind::never;

// Goal: one GPU must have enough free, not the sum. The lowest priorities are evicted, and few
// large pods rather than many small ones. Method: a table of nodes, with the victims for 8 GiB of
// priority 10.
TEST(PlanPreemption, OneShare) {
    struct Case {
        const char* what;
        std::vector<Here> pods;
        Preemption::Kind kind;
        Names victims;
    };
    const std::vector<Case> cases = {
        {"free already", {{0, 8, 0}}, kFits, {}},
        {"free soon", {{0, 16, 0, true}, {1, 16, 0}, {2, 16, 0}}, kSoon, {}},
        {"no lower priority", {{0, 16, 10}, {1, 16, 11}}, kNever, {}},
        {"the lower one", {{0, 16, 5}, {1, 16, 4}}, kEvict, {"1"}},
        {"the large one", {{0, 4, 5}, {0, 4, 5}, {0, 8, 5}, {1, 16, 10}}, kEvict, {"2"}},
        {"one GPU, not two halves",
         {{0, 4, 1}, {0, 12, 9}, {1, 4, 1}, {1, 4, 2}, {1, 8, 10}},
         kEvict,
         {"3", "2"}},
        {"what is free counts", {{0, 12, 10}, {0, 4, 1}, {1, 8, 10}, {1, 4, 9}}, kFits, {}},
        {"fewer of the same priority",
         {{0, 16, 10}, {1, 4, 3}, {1, 4, 3}, {1, 8, 10}, {2, 8, 3}, {2, 8, 10}},
         kEvict,
         {"4"}},
    };
    for (const Case& c : cases) {
        const Node node(3, [&] {
            std::vector<Here> pods = c.pods;
            const bool third = std::ranges::any_of(pods, [](const Here& h) { return h.gpu == 2; });
            if (!third && c.kind != kFits) pods.push_back({2, 16, 100});
            return pods;
        }());
        const Preemption plan = node.plan(build::native(gibibytes(8)), 10);
        EXPECT_EQ(plan.kind, c.kind) << c.what;
        EXPECT_EQ(names(plan), c.victims) << c.what;
    }
}

// Goal: whole GPUs and several GPUs: no pod is evicted from a GPU that stays in use.
TEST(PlanPreemption, WholeAndSeveralGpus) {
    const Node node(3, {{0, 1, 1}, {0, 1, 99}, {1, 2, 3}, {1, 2, 4}, {2, 12, 5}});
    EXPECT_EQ(names(node.plan(build::whole(1), 10)), (Names{"3", "2"}));
    EXPECT_EQ(names(node.plan(build::whole(2), 10)), (Names{"4", "3", "2"}));
    EXPECT_EQ(node.plan(build::whole(3), 10).kind, kNever);
    EXPECT_EQ(names(node.plan(build::native(gibibytes(13), 3), 10)), (Names{"4", "2"}))
        << "one of the two on the second GPU may stay";
}

// Goal: no pod is evicted on a blocked node.
TEST(PlanPreemption, BlockedNode) {
    ClusterState state;
    NodeInventory node = build::node("n", 1, gibibytes(16));
    node.fault = "broken";
    state.set_node(node);
    PodInfo pod = build::pod("p", build::whole());
    pod.priority = 10;
    EXPECT_EQ(plan_preemption(*state.snapshot()->find("n"), build::request(pod)).kind, kNever);
}

// Goal: every victim is necessary and of lower priority, and the pod fits without the victims. No
// victims are named for nothing, none is missing, and the highest victim's priority is as low as
// possible. Method: random nodes, each claim checked by trying.
REACHING_PROP(PlanPreemptionProperty, NobodyInVain) {
    const int gpus = *rc::gen::inRange(1, 4);
    std::vector<Here> pods;
    std::vector<int> used(static_cast<std::size_t>(gpus), 0);
    for (int i = *rc::gen::inRange(0, 14); i > 0; --i) {
        Here here{*rc::gen::inRange(0, gpus), *rc::gen::inRange(1, 9), *rc::gen::inRange(0, 6),
                  *rc::gen::inRange(0, 10) == 0};
        int& on_gpu = used[static_cast<std::size_t>(here.gpu)];
        if (on_gpu + here.gib > 16) continue;
        on_gpu += here.gib;
        pods.push_back(here);
    }
    const int priority = *rc::gen::inRange(0, 7);
    const auto asked = *rc::gen::element(build::native(gibibytes(*rc::gen::inRange(1, 17))),
                                         build::native(gibibytes(6), 2), build::whole());
    const auto fits_without = [&](const auto& is_gone) {
        std::vector<Here> rest;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            if (!pods[i].terminating && !is_gone(i)) rest.push_back(pods[i]);
        }
        return Node(gpus, rest).plan(asked, priority).kind == kFits;
    };
    const Node node(gpus, pods);
    const Preemption plan = node.plan(asked, priority);
    const auto is_lower = [&](std::size_t i) { return pods[i].priority < priority; };
    RC_ASSERT((plan.kind == kFits || plan.kind == kSoon) ==
              fits_without([](std::size_t) { return false; }));
    RC_ASSERT((plan.kind == kNever) == !fits_without(is_lower));
    reached(plan.kind == kEvict);
    if (plan.kind != kEvict) return;
    std::vector<std::size_t> victims;
    for (const std::string& name : names(plan))
        victims.push_back(std::stoul(name));
    const auto is_victim = [&](std::size_t i) { return std::ranges::count(victims, i) > 0; };
    RC_ASSERT(fits_without(is_victim));
    for (const std::size_t victim : victims) {
        RC_ASSERT(is_lower(victim));
        RC_ASSERT(!fits_without([&](std::size_t i) { return i != victim && is_victim(i); }));
    }
    const int highest = pods[victims.front()].priority;
    RC_ASSERT(!fits_without([&](std::size_t i) { return pods[i].priority < highest; }));
}

}  // namespace
}  // namespace tessera

#include "app/explain/explain_scheduler.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr const char* kCaveat =
    "Whether its scheduler, default-scheduler, calls Tessera is not known: no pod of that "
    "scheduler "
    "has GPUs from Tessera now (docs/install/extender-mode.md).";

// A pending pod "waits" of the default scheduler, which has reported on it.
class ExplainScheduler : public testing::Test {
  protected:
    ExplainScheduler() {
        put(build::pod("waits", build::native(gibibytes(4))), "default-scheduler");
    }

    void put(const PodInfo& pod, const std::string& scheduler) {
        objects_.pods.push_back(pod);
        objects_.scheduling[pod.uid] = {.scheduler = scheduler, .is_reported = true};
    }
    defrag::PodScheduling& of(std::size_t pod) {
        return objects_.scheduling[objects_.pods[pod].uid];
    }
    [[nodiscard]] SchedulerExplanation explain(const std::string& own_scheduler) const {
        return explain_scheduler(objects_, {"default", "waits"}, own_scheduler);
    }
    static PodInfo placed(const std::string& name) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(4)));
        return build::bound(
            pod, build::allocation(pod, "n1", {{.uuid = GpuUuid("g"), .memory = gibibytes(4)}}));
    }

    defrag::ClusterObjects objects_;
};

// Goal: in mode=scheduler, a pod of any other scheduler gets no GPU, and the fix is named.
TEST_F(ExplainScheduler, AnotherThanTesseras) {
    const auto said = explain("tessera-scheduler");
    EXPECT_EQ(said.faults, (std::vector<std::string>{
                               "spec.schedulerName is default-scheduler, and only "
                               "tessera-scheduler calls Tessera in this cluster; create the pod "
                               "again with schedulerName: tessera-scheduler"}));
    EXPECT_EQ(said.caveat, "");
    of(0).scheduler = "tessera-scheduler";
    EXPECT_TRUE(explain("tessera-scheduler").faults.empty());
    EXPECT_EQ(explain("tessera-scheduler").caveat, "");
}

// Goal: in extender mode nothing is claimed of a scheduler: only pods that it placed prove that it
// calls Tessera.
TEST_F(ExplainScheduler, OfExtenderMode) {
    EXPECT_TRUE(explain("").faults.empty());
    EXPECT_EQ(explain("").caveat, kCaveat);
    put(placed("of-another"), "volcano");
    PodInfo past = build::pod("past", build::native(gibibytes(4)));
    past.node = NodeName("n1");
    put(past, "default-scheduler");
    EXPECT_EQ(explain("").caveat, kCaveat);
    put(placed("there"), "default-scheduler");
    EXPECT_EQ(explain("").caveat, "");
}

// Goal: a scheduler that does not run is found by what it has not written.
TEST_F(ExplainScheduler, ThatHasNotReported) {
    of(0).is_reported = false;
    of(0).scheduler = "tessera-scheduler";
    EXPECT_EQ(explain("tessera-scheduler").caveat,
              "No scheduler has reported on it yet: check that tessera-scheduler runs.");
    of(0).scheduler = "default-scheduler";
    EXPECT_EQ(explain("").caveat,
              std::string(kCaveat) +
                  " No scheduler has reported on it yet: check that default-scheduler runs.");
}

// Goal: a pod with its GPUs needs no scheduler any more: one that Tessera placed, in whatever mode,
// or gpushare's scheduler.
TEST_F(ExplainScheduler, OfAPlacedPod) {
    objects_.pods[0] = placed("waits");
    EXPECT_TRUE(explain("tessera-scheduler").faults.empty());
    objects_.pods[0] = build::legacy_bound(build::pod("waits", build::aliyun(6)), "n1", 1, 6);
    EXPECT_TRUE(explain("tessera-scheduler").faults.empty());
    EXPECT_EQ(explain("").caveat, "");
}

// Goal: a pod that requests GPUs of two products is named, also if it is placed.
TEST_F(ExplainScheduler, BesideAnotherProduct) {
    of(0).foreign_requests = {"volcano.sh/vgpu-number"};
    of(0).scheduler = "tessera-scheduler";
    const std::vector<std::string> faults = {
        "it also requests volcano.sh/vgpu-number (Volcano's vGPU device plugin), so it needs a "
        "node that offers both; remove it, because a pod requests GPUs of one product"};
    EXPECT_EQ(explain("tessera-scheduler").faults, faults);
    objects_.pods[0] = placed("waits");
    EXPECT_EQ(explain("tessera-scheduler").faults, faults);
    objects_.scheduling.clear();
    EXPECT_TRUE(explain("tessera-scheduler").faults.empty());
}

}  // namespace
}  // namespace tessera

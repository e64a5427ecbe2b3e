#include "domain/admission/pod_admission.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

constexpr auto kOwn = std::to_array<std::string_view>({"tessera.dev/allocation"});

const AdmissionRules all_rules = {
    .own_annotations = kOwn, .scheduler = "tessera-scheduler", .runtime_class = "nvidia"};

CreatedContainer container(std::vector<std::pair<std::string, std::string>> limits,
                           std::size_t position = 0, ContainerKind kind = ContainerKind::app) {
    return {.position = position,
            .spec = {.name = "main", .kind = kind, .limits = std::move(limits)}};
}

CreatedPod share_of(const std::string& scheduler = "default-scheduler") {
    return {.scheduler = scheduler,
            .containers = {
                container({{"tessera.dev/gpu-share", "1"}, {"tessera.dev/gpu-memory", "3Gi"}})}};
}

PodEdits admitted(const CreatedPod& pod, const AdmissionRules& rules = all_rules) {
    return admit_pod(pod, rules, all_dialects());
}

// Goal: a pod that requests GPUs gets our scheduler and the RuntimeClass, unless it names others.
TEST(PodAdmission, SchedulerAndRuntimeClass) {
    EXPECT_EQ(admitted(share_of()),
              (PodEdits{.scheduler = "tessera-scheduler", .runtime_class = "nvidia"}));
    EXPECT_EQ(admitted(share_of("")).scheduler, "tessera-scheduler");
    EXPECT_EQ(admitted(share_of("volcano")).scheduler, "") << "the user chose another one";
    CreatedPod pod = share_of();
    pod.runtime_class = "kata";
    EXPECT_EQ(admitted(pod).runtime_class, "");
    pod.node = NodeName("n1");
    EXPECT_EQ(admitted(pod), PodEdits{}) << "no scheduler places it";
    EXPECT_EQ(admitted(share_of(), {.own_annotations = kOwn}), PodEdits{}) << "nothing configured";
    EXPECT_EQ(admitted(share_of(), {.scheduler = "default-scheduler"}), PodEdits{});
}

// Goal: a pod that requests no GPU is not changed, in whatever scheduler's hands it is.
TEST(PodAdmission, OtherPodsAreLeftAlone) {
    EXPECT_EQ(admitted({.scheduler = "default-scheduler"}), PodEdits{});
    EXPECT_EQ(admitted({.scheduler = "default-scheduler", .annotations = {"a"}}), PodEdits{});
}

// Goal: a dialect that is switched off requests nothing.
TEST(PodAdmission, OnlyDialectsThatAreOn) {
    const CreatedPod pod = {.scheduler = "default-scheduler",
                            .containers = {container({{"aliyun.com/gpu-mem", "3"}})}};
    EXPECT_EQ(admitted(pod).scheduler, "tessera-scheduler");
    const auto native = all_dialects().only(std::vector<std::string>{"native"});
    ASSERT_TRUE(native);
    EXPECT_EQ(admit_pod(pod, all_rules, *native), PodEdits{});
}

// Goal: memory without a number of shares means one share, in each container that has it. A
// container that says something else keeps it, also if it is wrong: its error names the fix.
TEST(PodAdmission, OneShareBesideMemory) {
    const CreatedPod pod = {
        .containers = {
            container({{"tessera.dev/gpu-memory", "3Gi"}}, 2, ContainerKind::init),
            container({{"tessera.dev/gpu-memory", "3Gi"}, {"tessera.dev/gpu-cores", "25"}}, 0),
            container({{"tessera.dev/gpu-memory", "3Gi"}, {"tessera.dev/gpu-share", "2"}}, 1),
            container({{"tessera.dev/gpu-memory", "3Gi"}, {"tessera.dev/gpu", "1"}}, 2),
            container({{"tessera.dev/gpu-cores", "25"}}, 3),
            container({{"aliyun.com/gpu-mem", "3"}}, 4),
        }};
    EXPECT_EQ(admitted(pod).limits,
              (std::vector<AddedLimit>{{ContainerKind::init, 2, "tessera.dev/gpu-share", "1"},
                                       {ContainerKind::app, 0, "tessera.dev/gpu-share", "1"}}));
}

// Goal: a pod that is created has no allocation: one that it brings was copied or made up.
TEST(PodAdmission, ForgedAllocationsAreRemoved) {
    CreatedPod pod = share_of();
    pod.annotations = {"tessera.dev/allocation", "team", "ALIYUN_COM_GPU_MEM_IDX",
                       "scheduler.framework.gpushare.allocation", "tessera.dev/gpu-models"};
    const std::vector<std::string> removed = {"tessera.dev/allocation", "ALIYUN_COM_GPU_MEM_IDX",
                                              "scheduler.framework.gpushare.allocation"};
    EXPECT_EQ(admitted(pod).removed_annotations, removed);
    pod.containers.clear();
    EXPECT_EQ(admitted(pod), PodEdits{.removed_annotations = removed});
    pod.is_mirror = true;
    EXPECT_EQ(admitted(pod), PodEdits{}) << "kubelet owns the mirror of a static pod";
}

// Goal: a budget that lowers priorities gives the default class to pods without one, and the lower
// class to all when it is spent, with what the API server computed before removed. Others change no
// class.
TEST(PodAdmission, PriorityClasses) {
    CreatedPod pod{.containers = {container({{"tessera.dev/gpu-memory", "3Gi"}})}};
    pod.priority = 0;
    GovernedNamespace governed{.when_spent = WhenSpent::lower_priority};
    const auto edits = [&] { return admit_pod(pod, {}, all_dialects(), &governed); };
    EXPECT_EQ(edits().priority_class, "gpu-default-priority");
    EXPECT_TRUE(edits().removes_priority);
    EXPECT_FALSE(edits().removes_preemption_policy);
    pod.priority_class = "own";
    EXPECT_EQ(edits().priority_class, "");
    EXPECT_FALSE(edits().removes_priority);
    governed.verdict.is_spent = true;
    pod.priority = 2'000'000;
    pod.has_preemption_policy = true;
    EXPECT_EQ(edits().priority_class, "gpu-lower-priority");
    EXPECT_TRUE(edits().removes_preemption_policy);
    pod.priority = 9'999;
    EXPECT_EQ(edits().priority_class, "") << "it is not raised";
    pod.priority = 2'000'000;
    for (const WhenSpent other : {WhenSpent::deny_new, WhenSpent::none, WhenSpent::suspend}) {
        governed.when_spent = other;
        EXPECT_EQ(edits().priority_class, "");
    }
    governed.when_spent = WhenSpent::lower_priority;
    EXPECT_EQ(admit_pod(CreatedPod{}, {}, all_dialects(), &governed), PodEdits{})
        << "a pod without GPUs";
}

}  // namespace
}  // namespace tessera

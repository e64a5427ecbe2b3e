#include "app/workload/prune.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using workload::RoleStatus;
using workload::TrainingPod;
using workload::TrainingStatus;

constexpr std::int64_t kNow = 1'000'000;
constexpr std::int64_t kHour = 3'600;

// Created three hours ago.
TrainingStatus job(const std::string& name, RoleStatus role, const std::string& phase) {
    TrainingStatus out;
    out.name = name;
    out.created_s = kNow - 3 * kHour;
    role.started_s = out.created_s;
    role.replicas = 1;
    out.roles = {role};
    TrainingPod pod;
    pod.pod.phase = phase;
    out.pods = {pod};
    return out;
}

std::vector<std::string> pruned(std::vector<TrainingStatus> jobs, const PruneRule& rule) {
    std::vector<std::string> names;
    for (const TrainingStatus& each : jobs_to_prune(std::move(jobs), rule, kNow))
        names.push_back(each.name);
    return names;
}

using Names = std::vector<std::string>;

// Goal: jobs that have ended for long enough, and never those that run or wait in part: Arena
// deletes these too.
TEST(Prune, Jobs) {
    TrainingStatus partly = job("partly", {.why = ""}, "Pending");
    partly.pods.push_back(partly.pods.front());
    partly.pods.back().pod.phase = "Running";
    const std::vector<TrainingStatus> jobs{
        job("done", {.succeeded = true, .why = "", .ended_s = kNow - 2 * kHour}, "Succeeded"),
        job("bad", {.failed = true, .why = "", .ended_s = kNow - kHour}, "Failed"),
        job("runs", {.why = ""}, "Running"),
        job("waits", {.why = ""}, "Pending"),
        job("queued", {.suspended = true, .why = ""}, "Pending"),
        partly};
    EXPECT_EQ(pruned(jobs, {.since_s = kHour}), (Names{"done", "bad"}));
    EXPECT_EQ(pruned(jobs, {.since_s = kHour + 1}), Names{"done"});
    EXPECT_EQ(pruned(jobs, {.since_s = 2 * kHour + 1}), Names{});
    EXPECT_EQ(pruned(jobs, {.since_s = 3 * kHour, .with_pending = true}),
              (Names{"waits", "queued"}));
    EXPECT_EQ(pruned(jobs, {.since_s = 4 * kHour, .with_pending = true}), Names{});
}

// Goal: a job that trained, or whose end is not complete, is kept, however long ago it was created.
TEST(Prune, KeepsWhatWasAtWork) {
    TrainingStatus drained = job("drained", {.why = ""}, "Pending");
    drained.pods[0].pod.created_s = kNow - 60;
    TrainingStatus retried = job("retried", {.why = ""}, "Failed");
    retried.pods.push_back(retried.pods.front());
    retried.pods.back().pod.phase = "Pending";
    TrainingStatus preempted = job("preempted", {.suspended = true, .why = ""}, "Pending");
    preempted.pods.clear();
    preempted.roles[0].suspended_s = kNow - 60;
    TrainingStatus chief =
        job("chief", {.failed = true, .why = "", .ended_s = kNow - 2 * kHour}, "Failed");
    chief.pods.push_back(chief.pods.front());
    chief.pods.back().pod.phase = "Running";
    const TrainingStatus ending = job("ending", {.succeeded = true, .why = ""}, "Succeeded");
    EXPECT_EQ(pruned({drained, retried, preempted, chief, ending},
                     {.since_s = kHour, .with_pending = true}),
              Names{});
}

}  // namespace
}  // namespace tessera

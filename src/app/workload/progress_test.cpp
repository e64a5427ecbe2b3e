#include "app/workload/progress.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using workload::ServingStatus;
using workload::TrainingStatus;
using Lines = std::vector<std::string>;

TrainingStatus training(const std::string& phase) {
    TrainingStatus job;
    job.name = "train";
    job.ns = "team";
    job.roles.push_back(
        {.role = "worker", .object = "train-worker", .replicas = 2, .gpus = {}, .why = {}});
    job.pods.push_back({.pod = {.name = "train-worker-0", .phase = phase}, .role = "worker"});
    return job;
}

TEST(Progress, Training) {
    TrainingStatus job = training("Pending");
    job.pods[0].pod.why = "Unschedulable: no GPU has 30Gi";
    EXPECT_EQ(progress_of(job, false),
              (ProgressLine{"train",
                            "PENDING 0/2 pods run: pod train-worker-0: Unschedulable: no GPU has "
                            "30Gi"}));
    job.roles[0].why = "quota";
    EXPECT_EQ(progress_of(job, true),
              (ProgressLine{"team/train", "PENDING 0/2 pods run: job train-worker: quota"}));
    job.roles[0].failed = true;
    EXPECT_EQ(progress_of(job, false).text, "FAILED: job train-worker: quota");
    job = training("Running");
    job.roles[0].succeeded = true;
    EXPECT_EQ(progress_of(job, false).text, "SUCCEEDED");
    job = training("Running");
    job.pods.push_back(job.pods[0]);
    EXPECT_EQ(progress_of(job, false).text, "RUNNING 2/2 pods run");
}

TEST(Progress, Serving) {
    ServingStatus job;
    job.id = {"mnist", "v2", workload::ServingType::tensorflow};
    job.ns = "team";
    job.object = "mnist-v2";
    job.desired = 2;
    job.available = 1;
    job.updated = 2;
    job.pods.push_back({.name = "mnist-v2-a"});
    job.pods.push_back({.name = "mnist-v2-b", .why = "ImagePullBackOff"});
    EXPECT_EQ(progress_of(job, true),
              (ProgressLine{"team/mnist version v2",
                            "1/2 pods are available: pod mnist-v2-b: ImagePullBackOff"}));
    job.why = "quota";
    EXPECT_EQ(progress_of(job, false).text, "1/2 pods are available: deployment mnist-v2: quota");
    job.available = 2;
    EXPECT_EQ(progress_of(job, false).text, "2/2 pods are available");
    job.updated = 1;
    EXPECT_EQ(progress_of(job, false).text, "2/2 pods are available, 1 up to date");
    job.is_settled = true;
    EXPECT_EQ(progress_of(job, false).text, "2/2 pods are available");
}

TEST(Progress, OnlyChanges) {
    ProgressLines lines;
    EXPECT_EQ(lines.changes({{"a", "PENDING"}, {"b", "RUNNING"}}),
              (Lines{"a: PENDING", "b: RUNNING"}));
    EXPECT_EQ(lines.changes({{"a", "PENDING"}, {"b", "RUNNING"}}), Lines{});
    EXPECT_EQ(lines.changes({{"a", "RUNNING"}}), (Lines{"a: RUNNING", "b: is gone"}));
    EXPECT_EQ(lines.changes({{"b", "RUNNING"}}), (Lines{"b: RUNNING", "a: is gone"}));
}

}  // namespace
}  // namespace tessera

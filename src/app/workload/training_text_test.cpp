#include "app/workload/training_text.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using workload::TrainingPod;
using workload::TrainingStatus;
using workload::TrainingType;

constexpr std::int64_t kNow = 1'782'898'200;  // 2026-07-01 09:30:00

TrainingPod pod(const std::string& name, const std::string& role, const std::string& phase) {
    TrainingPod out;
    out.pod = {.name = name, .phase = phase, .status = phase, .created_s = kNow - 120, .why = ""};
    out.role = role;
    return out;
}

TrainingStatus shared() {
    TrainingStatus job;
    job.name = "dist";
    job.ns = "default";
    job.type = TrainingType::tensorflow;
    job.created_s = kNow - 900;
    job.roles = {{.role = "worker",
                  .object = "dist-worker",
                  .uid = "u",
                  .replicas = 2,
                  .gpus = {.memory = gibibytes(4)},
                  .why = "",
                  .started_s = kNow - 900}};
    job.pods = {pod("dist-worker-0-abcde", "worker", "Running"),
                pod("dist-worker-1-fghij", "worker", "Pending")};
    job.pods[0].pod.node = "gpu-b";
    job.pods[0].pod.node_ip = "10.0.0.22";
    job.pods[0].pod.gpus = {{.uuid = GpuUuid("GPU-gpu-b-0"), .index = 0, .memory = gibibytes(4)}};
    job.pods[1].index = 1;
    job.pods[1].pod.why = "Unschedulable: no GPU";
    return job;
}

TrainingStatus whole() {
    TrainingStatus job;
    job.name = "old";
    job.ns = "team";
    job.type = TrainingType::pytorch;
    job.created_s = kNow - 7'200;
    job.roles = {{.role = "worker",
                  .object = "old-worker",
                  .replicas = 1,
                  .gpus = {.whole = 2},
                  .failed = true,
                  .why = "Job has reached the specified backoff limit",
                  .started_s = kNow - 7'200,
                  .ended_s = kNow - 3'600}};
    job.pods = {pod("old-worker-0-xyz", "worker", "Failed")};
    job.pods[0].pod.why = "container pytorch: it ended with exit code 3 (Error)";
    return job;
}

// Goal: the share of an MPI job is that of its workers, and its chief is the launcher.
TEST(TrainingText, Mpi) {
    const std::vector nodes{build::node("gpu-b", 1, gibibytes(16))};
    TrainingStatus job = shared();
    job.type = TrainingType::mpi;
    job.roles.insert(job.roles.begin(), {.role = "launcher",
                                         .object = "dist-launcher",
                                         .uid = "l",
                                         .replicas = 1,
                                         .gpus = {},
                                         .why = "",
                                         .started_s = kNow - 900});
    job.pods.insert(job.pods.begin(), pod("dist-launcher-0-klmno", "launcher", "Running"));
    job.pods[0].pod.node_ip = "10.0.0.7";
    EXPECT_EQ(training_table(std::vector{job}, {nodes, kNow}, false),
              "NAME  STATUS   TRAINER  DURATION  GPU(Requested)  GPU(Allocated)  NODE      GPU_MEM"
              "  GPU_CORE\n"
              "dist  PENDING  MPIJOB   15m       0               0.3             10.0.0.7  4Gi    "
              "  N/A\n");
}

// Goal: Arena's columns (docs/research/arena.md §4.3), then memory and compute of a share.
TEST(TrainingText, Table) {
    const std::vector nodes{build::node("gpu-b", 1, gibibytes(16))};
    const std::vector jobs{shared(), whole()};
    EXPECT_EQ(
        training_table(jobs, {nodes, kNow}, false),
        "NAME  STATUS   TRAINER     DURATION  GPU(Requested)  GPU(Allocated)  NODE       GPU_MEM  "
        "GPU_CORE\n"
        "dist  PENDING  TFJOB       15m       0               0.3             10.0.0.22  4Gi      "
        "N/A\n"
        "old   FAILED   PYTORCHJOB  1h        2               N/A             N/A        N/A      "
        "N/A\n");
    EXPECT_TRUE(training_table(jobs, {nodes, kNow}, true).starts_with("NAMESPACE  NAME"));
    EXPECT_TRUE(training_table(std::vector{whole()}, {nodes, kNow}, false)
                    .starts_with("NAME  STATUS  TRAINER     DURATION  GPU(Requested)  "
                                 "GPU(Allocated)  NODE\n"));
}

TEST(TrainingText, OneJob) {
    EXPECT_EQ(
        training_text(shared(), {{}, kNow}),
        "Name:        dist\n"
        "Status:      PENDING\n"
        "Namespace:   default\n"
        "Priority:    N/A\n"
        "Trainer:     TFJOB\n"
        "Duration:    15m\n"
        "CreateTime:  2026-07-01 09:15:00\n"
        "EndTime:\n"
        "\n"
        "Instances:\n"
        "  NAME                 STATUS   AGE  IS_CHIEF  GPU(Requested)  GPU(Allocated)  NODE\n"
        "  ----                 ------   ---  --------  --------------  --------------  ----\n"
        "  dist-worker-0-abcde  Running  2m   true      4Gi             gpu0(4Gi)       gpu-b\n"
        "  dist-worker-1-fghij  Pending  2m   false     4Gi             N/A             N/A\n"
        "\n"
        "Why it waits:\n"
        "  pod dist-worker-1-fghij: Unschedulable: no GPU\n");
    TrainingStatus runs = shared();
    runs.pods[1].pod.phase = "Running";
    runs.pods.push_back(pod("dist-worker-1-old", "worker", "Failed"));
    runs.pods.back().pod.why = "exit 1";
    EXPECT_EQ(training_text(runs, {{}, kNow}).find("Why"), std::string::npos)
        << "a pod that was replaced";
    const std::string failed = training_text(whole(), {{}, kNow});
    EXPECT_TRUE(failed.ends_with(
        "\nWhy it failed:\n"
        "  job old-worker: Job has reached the specified backoff limit\n"
        "  pod old-worker-0-xyz: container pytorch: it ended with exit code 3 (Error)\n"))
        << failed;
    EXPECT_NE(failed.find("EndTime:     2026-07-01 08:30:00\n"), std::string::npos);
}

// Goal: a job without its code says what to do.
TEST(TrainingText, CodeFromGit) {
    const auto reason = [](const std::string& status, const std::string& init) {
        TrainingStatus job = shared();
        job.pods[1].pod.status = status;
        job.pods[1].pod.init = init;
        job.pods[1].pod.why = "x";
        const std::string text = training_text(job, {{}, kNow});
        return text.substr(text.find("fghij: ") + 7);
    };
    EXPECT_EQ(reason("Init:0/1", "init-code"),
              "x; it copies the code from git, see tessera logs dist\n");
    EXPECT_EQ(reason("Init:Error", "init-code"),
              "x; the code could not be copied from git: see tessera logs dist, and check "
              "--sync-source, --sync-branch, --sync-revision and --sync-secret\n");
    EXPECT_EQ(reason("Init:ImagePullBackOff", "init-code"),
              "x; check --sync-image and --image-pull-secret\n");
    EXPECT_EQ(reason("Init:CreateContainerConfigError", "init-code"),
              "x; check the Secret of --sync-secret, which needs the keys username and password\n");
    EXPECT_EQ(reason("Init:Error", "istio-init"), "x\n");
    EXPECT_EQ(reason("Pending", "init-code"), "x\n");
}

// Goal: a job with TensorBoard says how to open it, or why it does not run.
TEST(TrainingText, Tensorboard) {
    TrainingStatus job = shared();
    job.has_tensorboard = true;
    const auto section = [&] {
        const std::string text = training_text(job, {{}, kNow});
        const std::size_t begin = text.find("Tensorboard:");
        return text.substr(begin, text.find("\n\n", begin) - begin);
    };
    EXPECT_EQ(section(), "Tensorboard:\n  It does not run yet: its pod is not there yet");
    job.tensorboard = pod("dist-tensorboard-x", "", "Pending").pod;
    job.tensorboard->why = "Unschedulable: no node";
    EXPECT_EQ(section(),
              "Tensorboard:\n  It does not run yet: pod dist-tensorboard-x is Pending: "
              "Unschedulable: no node");
    job.tensorboard->status = "Running";
    job.tensorboard->ready = job.tensorboard->containers = 1;
    EXPECT_EQ(section(),
              "Tensorboard:\n  Your tensorboard is available by: tessera tensorboard dist -n "
              "default");
    const auto document = JsonDocument::parse(training_json(job, {{}, kNow}));
    ASSERT_TRUE(document);
    EXPECT_EQ(document->root()["tensorboard"].text(), "http://dist-tensorboard.default.svc:6006");
}

TEST(TrainingText, Json) {
    const std::vector nodes{build::node("gpu-b", 1, gibibytes(16))};
    const auto document =
        JsonDocument::parse(training_list_json(std::vector{shared()}, {nodes, kNow}));
    ASSERT_TRUE(document);
    const JsonValue job = document->root().elements().at(0);
    EXPECT_EQ(job["name"].text(), "dist");
    EXPECT_EQ(job["duration"].text(), "900s");
    EXPECT_EQ(job["status"].text(), "PENDING");
    EXPECT_EQ(job["trainer"].text(), "tfjob");
    EXPECT_EQ(job["chiefName"].text(), "dist-worker-0-abcde");
    const JsonValue first = job["instances"].elements().at(0);
    EXPECT_EQ(first["chief"].boolean(), true);
    EXPECT_EQ(first["requestGPUMemory"].integer(), 4 * kGiB);
    EXPECT_EQ(first["gpus"].elements().at(0)["index"].integer(), 0);
    EXPECT_EQ(job["instances"].elements().at(1)["reason"].text(), "Unschedulable: no GPU");
}

}  // namespace
}  // namespace tessera

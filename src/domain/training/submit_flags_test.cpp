#include "domain/training/submit_flags.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "domain/training/training_status.hpp"

namespace tessera::workload {
namespace {

SubmitFlags submit(int workers = 1) {
    SubmitFlags out;
    out.name = "train";
    out.workers = workers;
    out.pod.image = "image:1";
    out.pod.gpu.gpumemory = "4";
    out.words = {"python", "train.py", "--x=$Y"};
    return out;
}

const EnvVar* variable(const Role& role, const std::string& name) {
    const auto at = std::ranges::find(role.pod.env, name, &EnvVar::name);
    return at == role.pod.env.end() ? nullptr : &*at;
}

std::string value(const Role& role, const std::string& name) {
    const EnvVar* at = variable(role, name);
    return at == nullptr ? "" : at->value;
}

// Goal: a job of one pod is one Job, without what several pods need.
TEST(TensorflowJob, Solo) {
    const Training job = tensorflow_job({.submit = submit()}).value();
    ASSERT_EQ(job.roles.size(), 1U);
    const Role& worker = job.roles.front();
    EXPECT_EQ(job.object(worker), "train-worker");
    EXPECT_EQ(worker.pod.command,
              (std::vector<std::string>{"sh", "-c", "python train.py --x=$$Y"}));
    EXPECT_EQ(worker.pod.restart_policy, "Never");
    EXPECT_EQ(variable(worker, "TF_CONFIG"), nullptr);
    EXPECT_EQ(value(worker, "TF_FORCE_GPU_ALLOW_GROWTH"), "true");
    EXPECT_FALSE(job.has_service || worker.first_decides);
    EXPECT_TRUE(worker.pod.labels.empty());
}

// Goal: each pod knows the cluster and its own place in it. Kubelet puts the index into TF_CONFIG,
// so the variable with it comes first.
TEST(TensorflowJob, WithAChief) {
    const Training job = tensorflow_job({.submit = submit(2), .chief = true}).value();
    ASSERT_EQ(job.roles.size(), 2U);
    EXPECT_EQ(job.roles[0].name, "chief");
    EXPECT_FALSE(job.roles[1].first_decides);
    const Role& worker = job.roles[1];
    EXPECT_EQ(worker.pod.env.front().name, "TESSERA_TASK_INDEX");
    EXPECT_EQ(worker.pod.env.front().field_path,
              "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    EXPECT_EQ(value(worker, "TF_CONFIG"),
              R"({"cluster":{"chief":["train-chief-0.train:2222"],)"
              R"("worker":["train-worker-0.train:2222","train-worker-1.train:2222"]},)"
              R"("task":{"type":"worker","index":$(TESSERA_TASK_INDEX)},"environment":"cloud"})");
    EXPECT_EQ(worker.pod.subdomain, "train");
    EXPECT_TRUE(job.has_service);
    // NCCL refuses two ranks on one GPU.
    EXPECT_EQ(worker.pod.labels.at("tessera.dev/gpu-anti-affinity"), "train");
}

TEST(TensorflowJob, WhoDecides) {
    EXPECT_TRUE(tensorflow_job({.submit = submit(2)})->roles[0].first_decides);
    EXPECT_FALSE(tensorflow_job({.submit = submit(2), .success_policy = "AllWorkers"})
                     ->roles[0]
                     .first_decides);
    EXPECT_FALSE(tensorflow_job({.submit = submit(), .success_policy = "Some"}));
    EXPECT_FALSE(
        tensorflow_job({.submit = submit(2), .chief = true, .success_policy = "AllWorkers"}));
    TensorflowJobFlags queued{.submit = submit(2), .chief = true};
    queued.submit.queue = "gpus";
    EXPECT_NE(
        tensorflow_job(queued).error().text.find("--queue: cannot be used with --chief, --ps"),
        std::string::npos);
}

TEST(PytorchJob, Variables) {
    PytorchJobFlags flags{.submit = submit(2), .nproc_per_node = "2"};
    flags.submit.pod.env = {"MASTER_PORT=1234"};
    const Training job = pytorch_job(flags).value();
    const Role& worker = job.roles.front();
    EXPECT_EQ(value(worker, "MASTER_ADDR"), "train-worker-0.train");
    EXPECT_EQ(value(worker, "MASTER_PORT"), "1234");  // the user's
    EXPECT_EQ(value(worker, "PET_MASTER_PORT"), "29500");
    EXPECT_EQ(value(worker, "WORLD_SIZE"), "2");
    EXPECT_EQ(value(worker, "RANK"), "$(TESSERA_TASK_INDEX)");
    EXPECT_EQ(value(worker, "PET_NNODES"), "2");
    EXPECT_EQ(value(worker, "PET_NODE_RANK"), "$(TESSERA_TASK_INDEX)");
    EXPECT_EQ(value(worker, "PET_NPROC_PER_NODE"), "2");
    EXPECT_EQ(variable(pytorch_job({.submit = submit()})->roles[0], "RANK"), nullptr);
    const Training solo = pytorch_job({.submit = submit(), .nproc_per_node = "4"}).value();
    EXPECT_EQ(value(solo.roles.front(), "PET_NPROC_PER_NODE"), "4");
    for (const char* text : {"", "0", "-1", "abc", "1.5"})
        EXPECT_FALSE(pytorch_job({.submit = submit(), .nproc_per_node = text})) << text;
}

// Goal: the pods of a TrainJob find each other by the names that a JobSet gives them, and by its
// Service.
TEST(TrainJob, Names) {
    PytorchJobFlags flags{.submit = submit(2)};
    flags.submit.backend = "trainjob";
    const Training job = pytorch_job(flags).value();
    const Role& worker = job.roles.front();
    EXPECT_EQ(job.anchor(), "train");
    EXPECT_EQ(job.object(worker), "train-node-0");
    EXPECT_EQ(worker.pod.container, "node");
    EXPECT_EQ(value(worker, "PET_MASTER_ADDR"), "train-node-0-0.train");
    EXPECT_FALSE(job.has_service);
    EXPECT_EQ(pytorch_job({.submit = submit(2)})->anchor(), "train-worker");
}

// Goal: what a TrainJob cannot do is refused with the fix.
TEST(TrainJob, Mistakes) {
    SubmitFlags flags = submit();
    flags.backend = "pytorchjob";
    EXPECT_EQ(plain_job(flags).error().text,
              "--backend: \"pytorchjob\" is neither job nor trainjob");
    flags.backend = "trainjob";
    EXPECT_TRUE(plain_job(flags));
    flags.name = std::string(48, 'a');
    EXPECT_TRUE(plain_job(flags));
    flags.workers = 11;
    EXPECT_TRUE(plain_job(flags).error().text.ends_with(
        "has 48 characters, and may have at most 47 with --backend trainjob and this many "
        "workers"));
    flags.name = "train";
    flags.ttl_after_finished = "1h";
    EXPECT_TRUE(plain_job(flags).error().text.starts_with("--ttl-after-finished: cannot be used"));
    TensorflowJobFlags chief{.submit = submit(2), .chief = true};
    chief.submit.backend = "trainjob";
    EXPECT_TRUE(tensorflow_job(chief).error().text.starts_with("--backend: trainjob has pods of "));
}

// Goal: pods that do not know of each other may share a GPU.
TEST(PlainJob, PodsAreIndependent) {
    const Training job = plain_job(submit(10)).value();
    EXPECT_EQ(job.roles.front().replicas, 10);
    EXPECT_TRUE(job.roles.front().pod.labels.empty());
    EXPECT_FALSE(job.has_service);
}

TEST(Submit, GangAndTimes) {
    TensorflowJobFlags flags{.submit = submit(3), .chief = true};
    flags.submit.gang = true;
    flags.submit.running_timeout = "1h30m";
    flags.submit.ttl_after_finished = "90s";
    const Training job = tensorflow_job(flags).value();
    for (const Role& role : job.roles) {
        EXPECT_EQ(role.pod.annotations.at("tessera.dev/gang"), "train");
        EXPECT_EQ(role.pod.annotations.at("tessera.dev/gang-size"), "4");
    }
    EXPECT_EQ(job.deadline_s, 5'400);
    EXPECT_EQ(job.ttl_s, 90);
    for (const char* text : {"", "5", "0s", "s", "1d", "1h-2m", "99999999999h", "1.5h"})
        EXPECT_FALSE(parse_duration("--x", text)) << text;
}

TEST(Submit, Mistakes) {
    const auto expect = [](const std::string& part, void (*change)(SubmitFlags&)) {
        SubmitFlags flags = submit();
        change(flags);
        const auto job = plain_job(flags);
        ASSERT_FALSE(job) << part;
        EXPECT_NE(job.error().text.find(part), std::string::npos) << job.error().text;
    };
    using F = SubmitFlags;
    expect("command: is missing", [](F& flags) { flags.words.clear(); });
    expect("--command: cannot be used with a command line",
           [](F& flags) { flags.pod.command = "true"; });
    expect("--name: is missing", [](F& flags) { flags.name.clear(); });
    expect("has 60 characters, and may have at most 49",
           [](F& flags) { flags.name = std::string(60, 'a'); });
    expect("--name: \"3d\" is not", [](F& flags) { flags.name = "3d"; });
    expect("--workers: 0 is not", [](F& flags) { flags.workers = 0; });
    expect("--retry: -1 is not", [](F& flags) { flags.retry = -1; });
    expect("--working-dir: is not an absolute path", [](F& flags) { flags.working_dir = "a"; });
    expect("--priority: is not", [](F& flags) { flags.priority = "A b"; });
    expect("--queue: is not", [](F& flags) { flags.queue = "A b"; });
    expect("--image: is missing", [](F& flags) { flags.pod.image.clear(); });
}

TEST(TrainingTypes, ByAllNames) {
    EXPECT_EQ(parse_training_type("tf"), TrainingType::tensorflow);
    EXPECT_EQ(parse_training_type("tfjob"), TrainingType::tensorflow);
    EXPECT_EQ(parse_training_type("pytorchjob"), TrainingType::pytorch);
    EXPECT_EQ(parse_training_type("job"), TrainingType::job);
    EXPECT_FALSE(parse_training_type(""));
    EXPECT_FALSE(parse_training_type("horovod"));
}

// Goal: the anchor decides that a job succeeded, and any role that it failed.
TEST(TrainingState, OfRolesAndPods) {
    TrainingStatus job;
    job.roles = {{.role = "chief", .object = "c", .replicas = 1, .gpus = {}, .why = {}},
                 {.role = "worker", .object = "w", .replicas = 1, .gpus = {}, .why = {}}};
    EXPECT_EQ(state_of(job), TrainingState::pending);
    const auto add = [&](const std::string& phase) {
        TrainingPod one;
        one.pod.phase = phase;
        job.pods.push_back(one);
    };
    add("Running");
    EXPECT_EQ(state_of(job), TrainingState::pending) << "the other pod is not there yet";
    add("Pending");
    EXPECT_EQ(state_of(job), TrainingState::pending);
    job.pods.back().pod.phase = "Running";
    EXPECT_EQ(state_of(job), TrainingState::running);
    job.roles[1].suspended = true;
    EXPECT_EQ(state_of(job), TrainingState::queuing);
    job.roles[1].succeeded = true;
    job.roles[1].suspended = false;
    EXPECT_EQ(state_of(job), TrainingState::running);
    job.roles[1].failed = true;
    EXPECT_EQ(state_of(job), TrainingState::failed);
    job.roles[0].succeeded = true;
    EXPECT_EQ(state_of(job), TrainingState::succeeded);
    EXPECT_EQ(duration_of(job, 100), 0);
    job.roles[0].started_s = 40;
    EXPECT_EQ(duration_of(job, 100), 60);
    job.roles[0].ended_s = 50;
    EXPECT_EQ(duration_of(job, 100), 10);
}

}  // namespace
}  // namespace tessera::workload

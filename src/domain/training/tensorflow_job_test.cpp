// Parameter servers, an evaluator, and the flags of single roles. submit_flags_test.cpp has the
// rest.
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/training/submit_flags.hpp"

namespace tessera::workload {
namespace {

TensorflowJobFlags flags_of(int workers = 1) {
    TensorflowJobFlags out;
    out.submit.name = "train";
    out.submit.workers = workers;
    out.submit.pod.image = "image:1";
    out.submit.pod.gpu.gpumemory = "4";
    out.submit.words = {"python", "train.py"};
    return out;
}

std::string value(const Role& role, const std::string& name) {
    const auto at = std::ranges::find(role.pod.env, name, &EnvVar::name);
    return at == role.pod.env.end() ? "" : at->value;
}

TEST(TensorflowJob, WithParameterServers) {
    TensorflowJobFlags flags = flags_of();
    flags.ps = 2;
    flags.evaluator = true;
    flags.submit.gang = true;
    flags.ps_role.port = 3'333;
    const Training job = tensorflow_job(flags).value();
    ASSERT_EQ(job.roles.size(), 3U);
    const Role& worker = job.roles[0];
    const Role& ps = job.roles[1];
    const Role& evaluator = job.roles[2];
    EXPECT_EQ(ps.name + " " + evaluator.name, "ps evaluator");
    EXPECT_EQ(ps.replicas, 2);
    EXPECT_EQ(
        value(evaluator, "TF_CONFIG"),
        R"({"cluster":{"worker":["train-worker-0.train:2222"],)"
        R"("ps":["train-ps-0.train:3333","train-ps-1.train:3333"]},)"
        R"("task":{"type":"evaluator","index":$(TESSERA_TASK_INDEX)},"environment":"cloud"})");
    // A parameter server has no GPU, and is not part of the gang.
    EXPECT_EQ(ps.pod.gpus, Gpus{});
    EXPECT_EQ(value(ps, "NVIDIA_VISIBLE_DEVICES"), "void");
    EXPECT_TRUE(ps.pod.annotations.empty() && ps.pod.labels.empty());
    EXPECT_EQ(worker.pod.annotations.at("tessera.dev/gang-size"), "2");
    EXPECT_EQ(value(worker, "NVIDIA_VISIBLE_DEVICES"), "");
    EXPECT_EQ(job.clean, CleanPolicy::running);
    flags.ps_gpus = 1;
    flags.clean_task_policy = "All";
    const Training with_gpus = tensorflow_job(flags).value();
    EXPECT_EQ(with_gpus.roles[1].pod.gpus, (Gpus{.whole = 1, .memory = {}, .cores = {}}));
    EXPECT_EQ(with_gpus.clean, CleanPolicy::all);
}

TEST(TensorflowJob, FlagsOfRoles) {
    TensorflowJobFlags flags = flags_of(2);
    flags.chief = true;
    flags.submit.pod.selectors = {"zone=a"};
    flags.submit.pod.cpu = "1";
    flags.chief_role = {.image = "chief:2",
                        .cpu = "500m",
                        .cpu_limit = "2",
                        .memory = {},
                        .memory_limit = "4Gi",
                        .selectors = {"disk=ssd"}};
    const Training job = tensorflow_job(flags).value();
    const PodTemplate& chief = job.roles[0].pod;
    EXPECT_EQ(chief.image, "chief:2");
    EXPECT_EQ(chief.limits, (StringMap{{"cpu", "2"}, {"memory", "4Gi"}}));
    EXPECT_EQ(chief.requests, (StringMap{{"cpu", "500m"}}));
    EXPECT_EQ(chief.node_selector, (StringMap{{"disk", "ssd"}}));
    const PodTemplate& worker = job.roles[1].pod;
    EXPECT_EQ(worker.limits, (StringMap{{"cpu", "1"}}));
    EXPECT_EQ(worker.node_selector, (StringMap{{"zone", "a"}}));
    EXPECT_TRUE(worker.requests.empty());
}

TEST(TensorflowJob, PodsOnOneNodeOrSeveral) {
    TensorflowJobFlags flags = flags_of(2);
    flags.ps = 1;
    flags.worker_role.affinity_policy = "spread";
    flags.worker_role.affinity_constraint = "required";
    flags.ps_role.affinity_policy = "binpack";
    const Training job = tensorflow_job(flags).value();
    EXPECT_EQ(job.roles[0].affinity, (RoleAffinity{.anti = true, .required = true}));
    EXPECT_EQ(job.roles[1].affinity, RoleAffinity{});
    EXPECT_EQ(tensorflow_job(flags_of(2)).value().roles[0].affinity, std::nullopt);
}

TEST(TensorflowJob, WhatPodsShareWithTheNode) {
    TensorflowJobFlags flags = flags_of(2);
    flags.submit.rdma = true;
    flags.submit.scheduler = "other-scheduler";
    flags.submit.host = {.network = true};
    const Training job = tensorflow_job(flags).value();
    const Role& worker = job.roles[0];
    EXPECT_EQ(worker.pod.limits, (StringMap{{"rdma/hca", "1"}}));
    EXPECT_TRUE(worker.pod.rdma);
    EXPECT_EQ(worker.pod.scheduler, "other-scheduler");
    EXPECT_EQ(worker.pod.host, HostParts{.network = true});
    EXPECT_EQ(value(worker, "workers"), "2") << "as in Arena";
    EXPECT_EQ(value(worker, "gpus"), "0");
}

TEST(TensorflowJob, Mistakes) {
    const auto expect = [](const std::string& part, void (*change)(TensorflowJobFlags&)) {
        TensorflowJobFlags flags = flags_of();
        change(flags);
        const auto job = tensorflow_job(flags);
        ASSERT_FALSE(job) << part;
        EXPECT_EQ(job.error().text.substr(0, part.size()), part);
    };
    using F = TensorflowJobFlags;
    expect("--chief-cpu: needs --chief", [](F& flags) { flags.chief_role.cpu = "1"; });
    expect("--ps-port: needs --ps", [](F& flags) { flags.ps_role.port = 1; });
    expect("--ps-gpus: needs --ps", [](F& flags) { flags.ps_gpus = 1; });
    expect("--ps: -1 is not a number", [](F& flags) { flags.ps = -1; });
    expect("--evaluator-selector: needs --evaluator",
           [](F& flags) { flags.evaluator_role.selectors = {"a=b"}; });
    expect("--worker-port: 0 is not", [](F& flags) { flags.worker_role.port = 0; });
    expect("--worker-cpu: \"3\" is more than --worker-cpu-limit \"2\"", [](F& flags) {
        flags.worker_role.cpu = "3";
        flags.worker_role.cpu_limit = "2";
    });
    expect("--worker-memory-limit", [](F& flags) { flags.worker_role.memory_limit = "much"; });
    expect("--worker-memory", [](F& flags) { flags.worker_role.memory = "much"; });
    expect("--worker-selector: \"zone\" is not NAME=VALUE",
           [](F& flags) { flags.worker_role.selectors = {"zone"}; });
    expect("--worker-affinity-policy: \"near\" is not none, spread or binpack",
           [](F& flags) { flags.worker_role.affinity_policy = "near"; });
    expect("--worker-affinity-constraint: \"must\" is neither",
           [](F& flags) { flags.worker_role.affinity_constraint = "must"; });
    expect("--worker-affinity-constraint: needs --worker-affinity-policy",
           [](F& flags) { flags.worker_role.affinity_constraint = "required"; });
    expect("--ps-affinity-policy: needs --ps",
           [](F& flags) { flags.ps_role.affinity_policy = "spread"; });
    expect("--scheduler: is not the name", [](F& flags) { flags.submit.scheduler = "A B"; });
    expect("--clean-task-policy: \"all\" is not Running, None or All",
           [](F& flags) { flags.clean_task_policy = "all"; });
    expect("--clean-task-policy: needs --chief, --ps or --evaluator",
           [](F& flags) { flags.clean_task_policy = "None"; });
    expect("--label: kueue.x-k8s.io/queue-name cannot be used", [](F& flags) {
        flags.chief = true;
        flags.submit.pod.labels = {"kueue.x-k8s.io/queue-name=gpus"};
    });
    expect("--queue: cannot be used with --chief, --ps and --evaluator", [](F& flags) {
        flags.ps = 1;
        flags.submit.queue = "gpus";
    });
}

}  // namespace
}  // namespace tessera::workload

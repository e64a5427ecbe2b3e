#include "wire/workload/training_json.hpp"

#include <gtest/gtest.h>

#include "domain/training/submit_flags.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/training_status_json.hpp"

namespace tessera::workload {
namespace {

Training job() {
    TensorflowJobFlags flags;
    flags.submit.name = "train";
    flags.submit.workers = 2;
    flags.submit.retry = 3;
    flags.submit.gang = true;
    flags.submit.priority = "high";
    flags.submit.running_timeout = "1h";
    flags.submit.ttl_after_finished = "2h";
    flags.submit.working_dir = "/work";
    flags.submit.pod.image = "image:1";
    flags.submit.pod.gpu.gpumemory = "4";
    flags.submit.pod.files = {{"/etc/x", "text"}};
    flags.submit.words = {"python"};
    flags.chief = true;
    Training out = tensorflow_job(flags).value();
    out.ns = "team";
    out.queue = "gpus";
    out.arguments = {"submit", "tf", "--name=train"};
    return out;
}

JsonDocument parsed(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

TEST(TrainingJson, Jobs) {
    const Training made = job();
    const JsonDocument chief = parsed(write_training_role(made, made.roles[0], ""));
    EXPECT_EQ(chief.root()["metadata"]["name"].text(), "train-chief");
    EXPECT_EQ(chief.root()["metadata"]["annotations"][kCommandAnnotation].text(),
              R"(["submit","tf","--name=train"])");
    EXPECT_EQ(chief.root()["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].text(), "gpus");
    EXPECT_FALSE(chief.root()["metadata"]["ownerReferences"].present());
    EXPECT_EQ(chief.root()["spec"]["ttlSecondsAfterFinished"].integer(), 7'200);

    const JsonDocument worker = parsed(write_training_role(made, made.roles[1], "uid-1"));
    EXPECT_TRUE(is_owned_by(worker.root(), "uid-1"));
    EXPECT_FALSE(worker.root()["metadata"]["annotations"][kCommandAnnotation].present());
    const JsonValue spec = worker.root()["spec"];
    EXPECT_EQ(spec["completions"].integer(), 2);
    EXPECT_EQ(spec["parallelism"].integer(), 2);
    EXPECT_EQ(spec["completionMode"].text(), "Indexed");
    EXPECT_EQ(spec["backoffLimit"].integer(), 3);
    EXPECT_EQ(spec["activeDeadlineSeconds"].integer(), 3'600);
    EXPECT_FALSE(spec["ttlSecondsAfterFinished"].present()) << "the anchor's end counts";
    EXPECT_TRUE(spec["suspend"].is_true());
    EXPECT_FALSE(spec["successPolicy"].present());
    const JsonValue pod = spec["template"]["spec"];
    EXPECT_EQ(pod["subdomain"].text(), "train");
    EXPECT_EQ(pod["restartPolicy"].text(), "Never");
    EXPECT_EQ(pod["priorityClassName"].text(), "high");
    const JsonValue container = pod["containers"].elements().at(0);
    EXPECT_EQ(container["workingDir"].text(), "/work");
    EXPECT_EQ(container["env"].elements().at(0)["valueFrom"]["fieldRef"]["fieldPath"].text(),
              "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    // The same files for all roles.
    EXPECT_EQ(pod["volumes"].elements().at(0)["configMap"]["name"].text(), files_name(made));
}

TEST(TrainingJson, NodesOfPods) {
    Training made = job();
    Role& worker = made.roles[1];
    worker.affinity = RoleAffinity{.anti = true, .required = false};
    worker.pod.rdma = true;
    worker.pod.host = {.network = true, .ipc = true, .pid = true};
    worker.pod.scheduler = "other";
    const JsonDocument text = parsed(write_training_role(made, worker, "uid-1"));
    const JsonValue spec = text.root()["spec"]["template"]["spec"];
    const auto preferred =
        spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
            .elements();
    ASSERT_EQ(preferred.size(), 1U);
    EXPECT_EQ(preferred[0]["weight"].integer(), 100);
    const JsonValue term = preferred[0]["podAffinityTerm"];
    EXPECT_EQ(term["topologyKey"].text(), "kubernetes.io/hostname");
    EXPECT_EQ(term["labelSelector"]["matchLabels"][kJobRoleLabel].text(), "worker");
    EXPECT_EQ(spec["schedulerName"].text(), "other");
    EXPECT_TRUE(spec["hostNetwork"].is_true() && spec["hostIPC"].is_true() &&
                spec["hostPID"].is_true());
    EXPECT_EQ(spec["dnsPolicy"].text(), "ClusterFirstWithHostNet");
    const auto added =
        spec["containers"].elements()[0]["securityContext"]["capabilities"]["add"].elements();
    ASSERT_EQ(added.size(), 1U);
    EXPECT_EQ(added[0].text(), "IPC_LOCK");

    worker.affinity = RoleAffinity{.anti = false, .required = true};
    const JsonDocument together = parsed(write_training_role(made, worker, "uid-1"));
    EXPECT_EQ(together
                  .root()["spec"]["template"]["spec"]["affinity"]["podAffinity"]
                         ["requiredDuringSchedulingIgnoredDuringExecution"]
                  .elements()
                  .size(),
              1U);
    const JsonDocument chief = parsed(write_training_role(made, made.roles[0], ""));
    const JsonValue plain = chief.root()["spec"]["template"]["spec"];
    for (const char* member : {"affinity", "hostNetwork", "hostIPC", "hostPID", "dnsPolicy"})
        EXPECT_FALSE(plain[member].present()) << member;
}

TEST(TrainingJson, FirstDecides) {
    Training made = job();
    made.roles[1].first_decides = true;
    const JsonDocument worker = parsed(write_training_role(made, made.roles[1], "u"));
    EXPECT_EQ(
        worker.root()["spec"]["successPolicy"]["rules"].elements().at(0)["succeededIndexes"].text(),
        "0");
}

TEST(TrainingJson, OwnedObjects) {
    const JsonDocument service = parsed(write_training_service(job(), "uid-1"));
    EXPECT_EQ(service.root()["metadata"]["name"].text(), "train");
    EXPECT_EQ(service.root()["spec"]["clusterIP"].text(), "None");
    EXPECT_TRUE(service.root()["spec"]["publishNotReadyAddresses"].is_true());
    EXPECT_TRUE(is_owned_by(service.root(), "uid-1"));
    const JsonDocument files = parsed(write_training_files(job(), "uid-1"));
    EXPECT_EQ(files.root()["data"]["file-0"].text(), "text");
}

// Goal: what was written is read back.
TEST(TrainingJson, RoundTrip) {
    const Training made = job();
    const JsonDocument chief = parsed(write_training_role(made, made.roles[0], ""));
    const auto read = read_training_role(chief.root());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "train");
    EXPECT_EQ(read->type, TrainingType::tensorflow);
    EXPECT_EQ(read->arguments, made.arguments);
    EXPECT_EQ(read->priority, "high");
    EXPECT_EQ(read->files, files_name(made));
    EXPECT_EQ(read->first().object, "train-chief");
    EXPECT_EQ(read->first().owner, "");
    EXPECT_TRUE(read->first().suspended);
    const JsonDocument worker = parsed(write_training_role(made, made.roles[1], "u"));
    const auto role = read_training_role(worker.root());
    EXPECT_EQ(role->first().owner, "u");
    EXPECT_EQ(role->first().replicas, 2);
    EXPECT_EQ(role->first().gpus.memory, gibibytes(4));
    EXPECT_EQ(read_training_of(worker.root()), "train");
    EXPECT_FALSE(read_training_role(parsed(R"({"metadata":{"name":"x"}})").root()));
}

Training train_job() {
    PytorchJobFlags flags;
    flags.submit.name = "train";
    flags.submit.workers = 2;
    flags.submit.backend = "trainjob";
    flags.submit.priority = "high";
    flags.submit.pod.image = "image:1";
    flags.submit.pod.gpu.gpumemory = "4";
    flags.submit.pod.files = {{"/etc/x", "text"}};
    flags.submit.words = {"python"};
    Training out = pytorch_job(flags).value();
    out.ns = "team";
    out.queue = "gpus";
    out.arguments = {"submit", "pytorch", "--name=train"};
    return out;
}

TEST(TrainJobJson, Objects) {
    const JsonDocument runtime = parsed(write_training_runtime(train_job()));
    EXPECT_EQ(runtime.root()["kind"].text(), "TrainingRuntime");
    EXPECT_EQ(runtime.root()["spec"]["mlPolicy"]["numNodes"].integer(), 2);
    const auto jobs = runtime.root()["spec"]["template"]["spec"]["replicatedJobs"].elements();
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0]["name"].text(), "node");
    const JsonValue labels = jobs[0]["template"]["metadata"]["labels"];
    EXPECT_EQ(labels["trainer.kubeflow.org/trainjob-ancestor-step"].text(), "trainer");
    EXPECT_EQ(labels[kJobNameLabel].text(), "train");
    const JsonValue spec = jobs[0]["template"]["spec"];
    EXPECT_EQ(spec["completionMode"].text(), "Indexed");
    EXPECT_FALSE(spec["suspend"].present()) << "the TrainJob says it";
    EXPECT_EQ(spec["successPolicy"]["rules"].elements()[0]["succeededIndexes"].text(), "0");
    EXPECT_EQ(spec["template"]["metadata"]["labels"][kJobRoleLabel].text(), "worker");
    EXPECT_EQ(spec["template"]["spec"]["containers"].elements()[0]["name"].text(), "node");

    const JsonDocument made = parsed(write_train_job(train_job(), "uid-1"));
    EXPECT_EQ(made.root()["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].text(), "gpus");
    EXPECT_EQ(made.root()["metadata"]["ownerReferences"].elements()[0]["kind"].text(),
              "TrainingRuntime");
    EXPECT_EQ(made.root()["spec"]["runtimeRef"]["kind"].text(), "TrainingRuntime");
    EXPECT_EQ(made.root()["spec"]["runtimeRef"]["name"].text(), "train");
    EXPECT_TRUE(made.root()["spec"]["suspend"].is_true());
    const JsonDocument files = parsed(write_training_files(train_job(), "uid-1"));
    EXPECT_EQ(files.root()["metadata"]["ownerReferences"].elements()[0]["name"].text(), "train");
}

// Goal: what was written is read back, also without an owner; a TrainJob of another name says
// nothing.
TEST(TrainJobJson, RoundTrip) {
    const JsonDocument runtime = parsed(write_training_runtime(train_job()));
    auto read = read_training_runtime(runtime.root());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "train");
    EXPECT_EQ(read->type, TrainingType::pytorch);
    EXPECT_EQ(read->arguments, train_job().arguments);
    EXPECT_EQ(read->priority, "high");
    EXPECT_EQ(read->files, files_name(train_job()));
    EXPECT_EQ(read->first().object, "train-node-0");
    EXPECT_EQ(read->first().role, "worker");
    EXPECT_EQ(read->first().replicas, 2);
    EXPECT_EQ(read->first().gpus.memory, gibibytes(4));
    EXPECT_FALSE(read_training_runtime(parsed(R"({"metadata":{"name":"x"}})").root()));
    read->runtime_uid = "uid-1";
    Training other = train_job();
    other.name = "other";
    read_train_job(parsed(write_train_job(other, "uid-1")).root(), *read);
    EXPECT_FALSE(read->first().suspended);
    read_train_job(parsed(write_train_job(train_job(), "")).root(), *read);
    EXPECT_TRUE(read->first().suspended);
    EXPECT_EQ(read->container(), "node");
}

TEST(TrainingJson, RoleEnds) {
    Training made = job();
    const auto label = [&] {
        const JsonDocument worker = parsed(write_training_role(made, made.roles[1], "u"));
        EXPECT_EQ(read_training_role(worker.root())->clean,
                  made.roles.size() > 1 ? made.clean : CleanPolicy::none);
        return worker.root()["metadata"]["labels"][kCleanPolicyLabel].text_or("");
    };
    EXPECT_EQ(label(), "Running");
    made.clean = CleanPolicy::all;
    EXPECT_EQ(label(), "All");
    made.clean = CleanPolicy::none;
    EXPECT_EQ(label(), "") << "the controller need not see it";
    const auto end = [](RoleEnding how) {
        return write_role_end({.object = "t-ps", .uid = "u", .how = how, .why = "w"});
    };
    const std::string head =
        R"({"metadata":{"uid":"u","annotations":{"tessera.dev/ended-because":"w"}},"spec":)";
    EXPECT_EQ(end(RoleEnding::suspend), head + R"({"suspend":true}})");
    EXPECT_EQ(end(RoleEnding::fail), head + R"({"activeDeadlineSeconds":1}})");
    EXPECT_EQ(end(RoleEnding::remove),
              head + R"({"activeDeadlineSeconds":1,"ttlSecondsAfterFinished":0}})");
}

// Goal: the reason of a Job that we ended is ours: Kubernetes would name a deadline.
TEST(TrainingStatusJson, EndedByUs) {
    const JsonDocument ended = parsed(R"({"metadata":{"name":"t-chief","labels":{
        "tessera.dev/job-name":"t","tessera.dev/job-type":"job"},
        "annotations":{"tessera.dev/ended-because":"the job t-ps failed"}},
        "status":{"conditions":[{"type":"Failed","status":"True","message":"deadline"}]}})");
    EXPECT_EQ(read_training_role(ended.root())->first().why,
              "it was ended, because the job t-ps failed");
}

TEST(TrainingStatusJson, Conditions) {
    const auto role = [](const std::string& status) {
        return read_training_role(
                   parsed(R"({"metadata":{"name":"t-worker","labels":{"tessera.dev/job-name":"t",
                          "tessera.dev/job-type":"job","tessera.dev/job-role":"worker"}},
                          "status":)" +
                          status + "}")
                       .root())
            ->first();
    };
    const RoleStatus failed = role(R"({"startTime":"2026-07-01T09:30:00Z","conditions":[
        {"type":"FailureTarget","status":"True","message":"x"},
        {"type":"Failed","status":"True","message":"backoff limit",
         "lastTransitionTime":"2026-07-01T09:31:00Z"}]})");
    EXPECT_TRUE(failed.failed);
    EXPECT_EQ(failed.why, "backoff limit");
    EXPECT_EQ(failed.ended_s - failed.started_s, 60);
    // Its other pods have not ended.
    EXPECT_TRUE(role(R"({"conditions":[{"type":"FailureTarget","status":"True"}]})").failed);
    const RoleStatus met =
        role(R"({"conditions":[{"type":"SuccessCriteriaMet","status":"True"}]})");
    EXPECT_TRUE(met.succeeded);
    EXPECT_EQ(met.ended_s, 0);
    const RoleStatus complete = role(R"({"conditions":[{"type":"Complete","status":"True",
        "lastTransitionTime":"2026-07-01T09:31:00Z"}]})");
    EXPECT_TRUE(complete.succeeded);
    EXPECT_EQ(complete.started_s, 0);
    EXPECT_FALSE(role(R"({"conditions":[{"type":"Complete","status":"False"}]})").succeeded);
}

// Goal: pods are ordered by role and index, and of one index the newest is first.
TEST(TrainingStatusJson, Pods) {
    const auto pod = [](const std::string& name, const std::string& role, const std::string& index,
                        const std::string& created) {
        return read_training_pod(
            parsed(R"({"metadata":{"name":")" + name + R"(","creationTimestamp":")" + created +
                   R"(","labels":{"tessera.dev/job-role":")" + role +
                   R"("},"annotations":{"batch.kubernetes.io/job-completion-index":")" + index +
                   R"("}},"status":{"phase":"Running"}})")
                .root());
    };
    TrainingStatus made;
    made.roles = {{.role = "chief", .object = {}, .gpus = {}, .why = {}},
                  {.role = "worker", .object = {}, .gpus = {}, .why = {}}};
    made.pods = {pod("d", "worker", "10", "2026-07-01T09:30:00Z"),
                 pod("c", "worker", "9", "2026-07-01T09:30:00Z"),
                 pod("b", "worker", "9", "2026-07-01T09:31:00Z"),
                 pod("a", "chief", "x", "2026-07-01T09:30:00Z")};
    sort_pods(made);
    std::string order;
    for (const TrainingPod& one : made.pods)
        order += one.pod.name;
    EXPECT_EQ(order, "abcd");
}

}  // namespace
}  // namespace tessera::workload

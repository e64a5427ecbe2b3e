#include "wire/workload/serving_json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "domain/serving/serve_flags.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/serving_status_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

Serving job() {
    TensorflowFlags flags;
    flags.serve.ns = "team";
    flags.serve.name = "mnist";
    flags.serve.replicas = 2;
    flags.serve.max_surge = "0";
    flags.serve.max_unavailable = "50%";
    flags.serve.pod.image = "serving:1";
    flags.serve.pod.gpu = {.gpumemory = "3", .gpucore = 25};
    flags.serve.pod.data = {"models:/models", "models:/again", "logs:/logs"};
    flags.serve.pod.env = {"A=1"};
    flags.serve.pod.env_from_secret = {"TOKEN=hub"};
    flags.serve.pod.labels = {"team=a", "app.kubernetes.io/name=mine"};
    flags.serve.pod.annotations = {"tessera.dev/gpu-models=T4"};
    flags.serve.pod.tolerations = {"gpu=a:NoSchedule"};
    flags.serve.pod.share_memory = "1Gi";
    flags.model_name = "mnist";
    flags.model_path = "/models/mnist";
    flags.version_policy = "all";
    Serving out = tensorflow_serving(flags).value();
    out.arguments = {"serve", "tensorflow", "--name=mnist", "--model-path=a \"b\""};
    return out;
}

JsonDocument parsed(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

// Goal: the Deployment has what the flags say, and the selector no label that a user may change.
TEST(ServingJson, Deployment) {
    const JsonDocument document = parsed(write_serving_deployment(job()));
    const JsonValue root = document.root();
    EXPECT_EQ(root["metadata"]["name"].text(), "mnist-tensorflow-serving");
    EXPECT_EQ(root["metadata"]["namespace"].text(), "team");
    EXPECT_EQ(root["metadata"]["annotations"]["tessera.dev/command"].text(),
              R"(["serve","tensorflow","--name=mnist","--model-path=a \"b\""])");
    const JsonValue spec = root["spec"];
    EXPECT_EQ(spec["replicas"].integer(), 2);
    EXPECT_EQ(spec["strategy"]["rollingUpdate"]["maxSurge"].integer(), 0);
    EXPECT_EQ(spec["strategy"]["rollingUpdate"]["maxUnavailable"].text(), "50%");
    EXPECT_EQ(spec["selector"]["matchLabels"].members().size(), 2U);
    for (const auto& [key, value] : spec["selector"]["matchLabels"].members())
        EXPECT_EQ(spec["template"]["metadata"]["labels"][key].text(), value.text()) << key;
    EXPECT_EQ(spec["template"]["metadata"]["labels"]["team"].text(), "a");
    EXPECT_EQ(spec["template"]["metadata"]["labels"][kAppLabel].text(), "tensorflow-serving");
    EXPECT_EQ(spec["template"]["metadata"]["annotations"]["tessera.dev/gpu-models"].text(), "T4");
}

TEST(ServingJson, Container) {
    const JsonDocument document = parsed(write_serving_deployment(job()));
    const JsonValue pod = document.root()["spec"]["template"]["spec"];
    const JsonValue container = pod["containers"].elements().at(0);
    const JsonValue limits = container["resources"]["limits"];
    EXPECT_EQ(limits["tessera.dev/gpu-share"].text(), "1");
    EXPECT_EQ(limits["tessera.dev/gpu-memory"].text(), "3Gi");
    EXPECT_EQ(limits["tessera.dev/gpu-cores"].text(), "25");
    EXPECT_EQ(container["env"].elements().at(0)["value"].text(), "1");
    const JsonValue secret = container["env"].elements().at(1)["valueFrom"]["secretKeyRef"];
    EXPECT_EQ(secret["name"].text(), "hub");
    EXPECT_EQ(secret["key"].text(), "TOKEN");
    EXPECT_EQ(container["readinessProbe"]["httpGet"]["path"].text(), "/v1/models/mnist");
    // A claim that is mounted twice is one volume.
    std::vector<std::string> mounts;
    for (const JsonValue mount : container["volumeMounts"].elements())
        mounts.push_back(mount["name"].text_or("") + " " + mount["mountPath"].text_or(""));
    EXPECT_EQ(mounts, (std::vector<std::string>{"data-0 /models", "data-0 /again", "data-2 /logs",
                                                "tessera-files /etc/tessera/models.config",
                                                "tessera-shared-memory /dev/shm"}));
    EXPECT_EQ(pod["volumes"].elements().size(), 4U);
    EXPECT_EQ(pod["tolerations"].elements().at(0)["effect"].text(), "NoSchedule");
}

// Goal: each action of a probe is the API's member, and defaults of the API are not written.
TEST(ServingJson, Probes) {
    Serving made = job();
    made.pod.startup = {.action = ProbeAction::exec, .command = {"sh", "-c", "cat /x"}};
    made.pod.readiness = {
        .action = ProbeAction::grpc, .port = 9, .service = "s", .delay_s = 4, .successes = 2};
    made.pod.liveness = {.action = ProbeAction::http, .port = 8, .path = "/", .scheme = "HTTPS"};
    const std::string text = write_serving_deployment(made);
    for (const char* part :
         {R"("startupProbe":{"exec":{"command":["sh","-c","cat /x"]},"periodSeconds":5,)"
          R"("timeoutSeconds":3,"failureThreshold":3})",
          R"("readinessProbe":{"grpc":{"port":9,"service":"s"},"initialDelaySeconds":4,)"
          R"("periodSeconds":5,"timeoutSeconds":3,"successThreshold":2,"failureThreshold":3})",
          R"("livenessProbe":{"httpGet":{"path":"/","port":8,"scheme":"HTTPS"},)"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

TEST(ServingJson, OwnedObjects) {
    const Serving made = job();
    const JsonDocument service = parsed(write_serving_service(made, "uid-1"));
    const JsonValue owner = service.root()["metadata"]["ownerReferences"].elements().at(0);
    EXPECT_EQ(owner["kind"].text(), "Deployment");
    EXPECT_EQ(owner["name"].text(), "mnist-tensorflow-serving");
    EXPECT_EQ(owner["uid"].text(), "uid-1");
    EXPECT_EQ(service.root()["spec"]["ports"].elements().size(), 2U);
    const JsonDocument files = parsed(write_serving_files(made, ""));
    EXPECT_FALSE(files.root()["metadata"]["ownerReferences"].present());
    EXPECT_EQ(files.root()["metadata"]["name"].text(), files_name(made));
    EXPECT_EQ(files.root()["data"]["file-0"].text(), made.pod.files.at(0).content);
}

// Goal: an update changes the pods and what is recorded, and their number only if that is wanted;
// it fails if another command changed the job.
TEST(ServingJson, Update) {
    const auto paths = [](const std::string& patch) {
        const JsonDocument document = parsed(patch);
        std::string out;
        for (const JsonValue one : document.root().elements())
            out += one["op"].text_or("") + " " + one["path"].text_or("") + "\n";
        return out;
    };
    const std::string record =
        "test /metadata/uid\ntest /metadata/annotations/tessera.dev~1command\n"
        "add /metadata/annotations/tessera.dev~1command\n";
    const auto update = [](const ServingChange& change) {
        return write_serving_update(job(), "u", "[]", change);
    };
    EXPECT_EQ(paths(update({})), record);
    EXPECT_EQ(paths(update({.replicas = true})), record + "add /spec/replicas\n");
    EXPECT_EQ(paths(update({.strategy = true})), record + "add /spec/strategy\n");
    EXPECT_NE(update({.strategy = true})
                  .find(R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,)"),
              std::string::npos);
    const std::string pods = paths(update({.pods = true}));
    EXPECT_NE(pods.find("add /metadata/labels/team\n"), std::string::npos);
    EXPECT_NE(pods.find("add /metadata/annotations/tessera.dev~1gpu-models\n"), std::string::npos);
    EXPECT_NE(pods.find("add /spec/template\n"), std::string::npos);
    EXPECT_NE(pods.find("test /spec/template/metadata/labels/tessera.dev~1serving-split\n"),
              std::string::npos);
    // Our labels stay ours.
    EXPECT_EQ(update({.pods = true}).find("mine"), std::string::npos);
}

// Goal: what was written is read back: name, arguments and GPUs.
TEST(ServingJson, RoundTrip) {
    const Serving made = job();
    const JsonDocument document = parsed(write_serving_deployment(made));
    const auto read = read_serving(document.root());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, made.id);
    EXPECT_EQ(read->arguments, made.arguments);
    EXPECT_EQ(read->gpus, made.pod.gpus);
    EXPECT_EQ(read->files, files_name(made));
    EXPECT_EQ(read->file_keys.at(0),
              (std::pair<std::string, std::string>("/etc/tessera/models.config", "file-0")));
    EXPECT_EQ(read->desired, 2);
    EXPECT_EQ(read->in_split, true);
    EXPECT_EQ(read_serving_of(document.root()), read->object);
    EXPECT_FALSE(read_serving(parsed(R"({"metadata":{"name":"web"}})").root()));
}

// A pod of the API with this status.
WorkloadPod pod_with(const std::string& status, const std::string& spec = "") {
    const JsonDocument document =
        parsed(R"({"metadata":{"name":"p","creationTimestamp":"2026-07-01T09:30:00Z"},"spec":{)" +
               spec + R"("containers":[{"name":"serving"}]},"status":)" + status + "}");
    return read_workload_pod(document.root());
}

// Goal: why a pod is not ready comes from the place in its status that says so.
TEST(ServingStatusJson, WhyAPodWaits) {
    const std::string bound = R"("nodeName":"n",)";
    EXPECT_EQ(pod_with(R"({"phase":"Pending","conditions":[{"type":"PodScheduled",
        "status":"False","reason":"Unschedulable","message":"0/1 nodes"}]})")
                  .why,
              "Unschedulable: 0/1 nodes");
    EXPECT_EQ(pod_with(R"({"phase":"Pending"})").why, "no scheduler has looked at it yet");
    EXPECT_EQ(pod_with(R"({"phase":"Pending"})", bound).why, "its containers do not run yet");
    const WorkloadPod pull = pod_with(R"({"phase":"Pending","containerStatuses":[{"name":"serving",
        "state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]})",
                                      bound);
    EXPECT_EQ(pull.status, "ErrImagePull");
    EXPECT_EQ(pull.why, "container serving: ErrImagePull: no such image");
    const WorkloadPod crash = pod_with(R"({"phase":"Running","containerStatuses":[{"name":"serving",
        "restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
        "lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]})",
                                       bound);
    EXPECT_EQ(crash.why, "container serving: CrashLoopBackOff; it ended with exit code 1 (Error)");
    EXPECT_EQ(crash.restarts, 3);
    const WorkloadPod running = pod_with(R"({"phase":"Running","containerStatuses":[
        {"name":"serving","ready":false,"state":{"running":{}}}]})",
                                         bound);
    EXPECT_EQ(running.why, "container serving runs, and is not ready");
    EXPECT_EQ(pod_with(R"({"phase":"Failed","reason":"Evicted","message":"disk"})", bound).why,
              "Evicted: disk");
    const WorkloadPod ready = pod_with(R"({"phase":"Running","containerStatuses":[
        {"name":"serving","ready":true,"state":{"running":{}}}]})",
                                       bound);
    EXPECT_EQ(ready.why, "");
    EXPECT_EQ(ready.status, "Running");
    EXPECT_EQ(ready.created_s, 1'782'898'200);
}

// Goal: only the Service that the job made counts, not one that a user made for its pods.
TEST(ServingStatusJson, Service) {
    ServingStatus job;
    job.object = "half-tensorflow-serving";
    job.uid = "u";
    const auto service = [](const std::string& name, const std::string& uid) {
        return parsed(R"({"metadata":{"name":")" + name + R"(","ownerReferences":[{"uid":")" + uid +
                      R"("}]},"spec":{"clusterIP":"10.0.0.1","ports":[{"name":"a","port":1}]}})");
    };
    read_serving_service(service("half-lb", "u").root(), job);
    read_serving_service(service("half-tensorflow-serving", "other").root(), job);
    EXPECT_FALSE(job.has_service);
    read_serving_service(service("half-tensorflow-serving", "u").root(), job);
    EXPECT_TRUE(job.has_service);
    EXPECT_EQ(job.address, "10.0.0.1");
}

// As `kubectl rollout status` decides.
TEST(ServingStatusJson, Settled) {
    struct Case {
        const char* status;
        bool is_settled;
    };
    constexpr std::array<Case, 6> kCases{{
        {R"({"observedGeneration":3,"replicas":2,"updatedReplicas":2,"availableReplicas":2})",
         true},
        {R"({"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2})",
         false},
        {R"({"observedGeneration":3,"replicas":3,"updatedReplicas":2,"availableReplicas":2})",
         false},
        {R"({"observedGeneration":3,"replicas":2,"updatedReplicas":1,"availableReplicas":2})",
         false},
        {R"({"observedGeneration":3,"replicas":2,"updatedReplicas":2,"availableReplicas":1})",
         false},
        {"{}", false},
    }};
    for (const Case& one : kCases) {
        const JsonDocument deployment = parsed(fmt::format(
            R"({{"metadata":{{"name":"m","generation":3,"labels":{{"{}":"tf-serving"}}}},)"
            R"("spec":{{"replicas":2}},"status":{}}})",
            kServingTypeLabel, one.status));
        const auto job = read_serving(deployment.root());
        ASSERT_TRUE(job) << one.status;
        EXPECT_EQ(job->is_settled, one.is_settled) << one.status;
    }
}

TEST(ServingStatusJson, WhyADeploymentHasNoPods) {
    const JsonDocument document = parsed(R"({"metadata":{"name":"x","labels":{
        "tessera.dev/serving-name":"x","tessera.dev/serving-type":"tf-serving"}},
        "status":{"conditions":[{"type":"ReplicaFailure","status":"True",
        "message":"exceeded quota"}]}})");
    EXPECT_EQ(read_serving(document.root())->why, "exceeded quota");
}

}  // namespace
}  // namespace tessera::workload

#include "wire/workload/tensorboard_json.hpp"

#include <gtest/gtest.h>

#include "domain/training/tensorboard.hpp"
#include "wire/text/json.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/training_json.hpp"

namespace tessera::workload {
namespace {

Training job() {
    Training out;
    out.name = "train";
    out.ns = "team";
    out.roles.push_back({.name = "chief", .pod = {}});
    out.roles.front().pod.mounts = {{VolumeKind::claim, "logs", "/training_logs"}};
    EXPECT_TRUE(add_tensorboard({.wanted = true, .image = "tb:1", .logdir = {}}, out));
    return out;
}

JsonDocument parsed(const std::string& text) {
    return JsonDocument::parse(text).value();
}

// Goal: the pod reads the job's volume on the node of the chief, and has none of the labels of the
// job's pods.
TEST(TensorboardJson, Deployment) {
    const JsonDocument document = parsed(write_tensorboard_deployment(job(), "uid-1"));
    const JsonValue root = document.root();
    EXPECT_EQ(root["metadata"]["name"].text(), "train-tensorboard");
    EXPECT_EQ(root["metadata"]["namespace"].text(), "team");
    EXPECT_TRUE(is_owned_by(root, "uid-1"));
    const JsonValue owner = root["metadata"]["ownerReferences"].elements().at(0);
    EXPECT_EQ(owner["name"].text(), "train-chief");
    EXPECT_FALSE(root["metadata"]["labels"][kJobNameLabel].present());
    EXPECT_EQ(root["spec"]["selector"]["matchLabels"][kTensorboardLabel].text(), "train");
    const JsonValue pod = root["spec"]["template"];
    EXPECT_EQ(pod["metadata"]["labels"][kTensorboardLabel].text(), "train");
    EXPECT_FALSE(pod["metadata"]["labels"][kJobNameLabel].present());
    const JsonValue term =
        pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            .elements()
            .at(0);
    EXPECT_EQ(term["topologyKey"].text(), "kubernetes.io/hostname");
    const JsonValue labels = term["labelSelector"]["matchLabels"];
    EXPECT_EQ(labels[kJobNameLabel].text(), "train");
    EXPECT_EQ(labels[kJobRoleLabel].text(), "chief");
    EXPECT_EQ(labels["batch.kubernetes.io/job-completion-index"].text(), "0");
    const JsonValue container = pod["spec"]["containers"].elements().at(0);
    EXPECT_FALSE(container["resources"].present());
    EXPECT_TRUE(container["volumeMounts"].elements().at(0)["readOnly"].is_true());
    EXPECT_EQ(container["readinessProbe"]["tcpSocket"]["port"].integer(), 6006);
    EXPECT_FALSE(pod["spec"]["restartPolicy"].present());
}

TEST(TensorboardJson, Service) {
    const JsonDocument document = parsed(write_tensorboard_service(job(), "uid-1"));
    const JsonValue root = document.root();
    EXPECT_EQ(root["metadata"]["name"].text(), "train-tensorboard");
    EXPECT_TRUE(is_owned_by(root, "uid-1"));
    EXPECT_EQ(root["spec"]["selector"][kTensorboardLabel].text(), "train");
    EXPECT_EQ(root["spec"]["ports"].elements().at(0)["port"].integer(), 6006);
    EXPECT_FALSE(root["spec"]["type"].present());  // ClusterIP
}

}  // namespace
}  // namespace tessera::workload

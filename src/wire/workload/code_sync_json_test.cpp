#include "wire/workload/code_sync_json.hpp"

#include <gtest/gtest.h>

#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

JsonDocument written(const PodTemplate& pod) {
    JsonWriter w;
    w.object([&] { write_pod_template(w, pod, {}, "files"); });
    return JsonDocument::parse(w.take()).value();
}

PodTemplate with_code() {
    PodTemplate out;
    out.container = "main";
    out.image = "image:1";
    out.pull_policy = "Always";
    out.limits = {{"cpu", "2"}, {"example.com/fpga", "1"}};
    out.gpus.whole = 1;
    out.env = {{.name = "EPOCHS", .value = "3"}};
    out.code = CodeSync{.image = "git-sync:1",
                        .env = {{.name = "GITSYNC_REPO", .value = "https://example.com/a"},
                                {.name = "GITSYNC_PASSWORD",
                                 .value = {},
                                 .secret = "token",
                                 .secret_key = "password"}},
                        .secret = {},
                        .path = "/root/code"};
    return out;
}

// Goal: git-sync and the program share a folder and nothing else: no GPU, no variables, no root.
TEST(CodeSyncJson, Container) {
    const JsonDocument document = written(with_code());
    const JsonValue spec = document.root()["spec"];
    const JsonValue init = spec["initContainers"].elements().at(0);
    EXPECT_EQ(init["name"].text(), "init-code");
    EXPECT_EQ(init["image"].text(), "git-sync:1");
    EXPECT_EQ(init["imagePullPolicy"].text(), "Always");
    EXPECT_EQ(init["resources"]["limits"]["cpu"].text(), "2");
    EXPECT_FALSE(init["resources"]["limits"]["example.com/fpga"].present());
    EXPECT_FALSE(init["resources"]["limits"]["tessera.dev/gpu"].present());
    EXPECT_TRUE(init["securityContext"]["runAsNonRoot"].is_true());
    EXPECT_EQ(init["securityContext"]["runAsUser"].integer(), 65'533);
    const JsonValue password = init["env"].elements().at(1)["valueFrom"]["secretKeyRef"];
    EXPECT_EQ(password["name"].text(), "token");
    EXPECT_EQ(password["key"].text(), "password");
    const JsonValue mount = init["volumeMounts"].elements().at(0);
    EXPECT_EQ(init["volumeMounts"].elements().size(), 1U);
    EXPECT_EQ(mount["mountPath"].text(), "/code");
    const JsonValue main = spec["containers"].elements().at(0);
    EXPECT_EQ(main["env"].elements().size(), 1U);
    EXPECT_EQ(main["volumeMounts"].elements().at(0)["mountPath"].text(), "/root/code");
    EXPECT_EQ(main["volumeMounts"].elements().at(0)["name"].text(), mount["name"].text());
    EXPECT_EQ(spec["volumes"].elements().size(), 1U);
    EXPECT_TRUE(spec["volumes"].elements().at(0)["emptyDir"].present());
}

// Goal: only git-sync has the key for ssh.
TEST(CodeSyncJson, Secret) {
    PodTemplate pod = with_code();
    pod.code->secret = "git-key";
    const JsonDocument document = written(pod);
    const JsonValue spec = document.root()["spec"];
    const JsonValue volume = spec["volumes"].elements().at(1);
    EXPECT_EQ(volume["secret"]["secretName"].text(), "git-key");
    EXPECT_EQ(volume["secret"]["defaultMode"].integer(), 0444);
    const auto mounts = spec["initContainers"].elements().at(0)["volumeMounts"].elements();
    EXPECT_EQ(mounts.at(1)["mountPath"].text(), "/etc/git-secret");
    EXPECT_EQ(spec["containers"].elements().at(0)["volumeMounts"].elements().size(), 1U);
}

TEST(CodeSyncJson, None) {
    PodTemplate pod = with_code();
    pod.code.reset();
    const JsonDocument document = written(pod);
    EXPECT_FALSE(document.root()["spec"]["initContainers"].present());
    EXPECT_FALSE(document.root()["spec"]["volumes"].present());
}

}  // namespace
}  // namespace tessera::workload

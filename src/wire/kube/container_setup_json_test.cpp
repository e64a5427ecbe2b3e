// Goal: a pod's volumes, privileges and RuntimeClass are read for each container.
#include "wire/kube/container_setup_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ContainerSetups, Reads) {
    const auto document = JsonDocument::parse(R"({"spec": {
        "runtimeClassName": "nvidia",
        "volumes": [{"name": "settings", "configMap": {"name": "x"}},
                    {"name": "apm", "hostPath": {"path": "/opt/apm"}},
                    {"name": "scratch", "emptyDir": {}},
                    {"name": "bad", "hostPath": 3}, 7],
        "initContainers": [{"name": "prepare", "securityContext": {"privileged": true}}],
        "containers": [{"name": "main", "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/ld.so.preload/"},
            {"name": "apm", "mountPath": "/etc/ld.so.preload", "subPath": "ld.so.preload",
             "readOnly": true},
            {"name": "apm", "mountPath": "/apm", "subPathExpr": "x"},
            {"name": "scratch", "mountPath": "/etc"}, {"name": "none", "mountPath": "/x"},
            {"name": "bad", "mountPath": "/y"}, 5],
            "volumeDevices": [{"name": "disk", "devicePath": "/dev/xvda"}, 3],
            "terminationMessagePath": "/dev/termination-log"
}]
}
})");
    ASSERT_TRUE(document);
    const auto setups = read_container_setups(document->root());
    EXPECT_EQ(setups, (std::vector<ContainerSetup>{
                          {"prepare", "nvidia", true, {}},
                          {"main",
                           "nvidia",
                           false,
                           {{"/etc/ld.so.preload/", "", true, "settings"},
                            {"/etc/ld.so.preload", "/opt/apm/ld.so.preload", true, "apm"},
                            {"/apm", "", false, "apm"},
                            {"/etc", "", false, "scratch"},
                            {"/x", "", false, "none"},
                            {"/y", "", false, "bad"},
                            {"", "", false, ""},
                            {"/dev/termination-log", "", false, "terminationMessagePath"}},
                           std::vector<std::string>{"/dev/xvda", ""}}}));
}

// Goal: a volume that is read-only by its source is read-only, whatever the mount says.
TEST(ContainerSetups, VolumesThatAreReadOnly) {
    for (const auto& [volume, is_read_only] : std::vector<std::pair<std::string, bool>>{
             {R"("image": {"reference": "a/b"})", true},
             {R"("projected": {})", true},
             {R"("csi": {"driver": "d", "readOnly": true})", true},
             {R"("csi": {"driver": "d", "readOnly": false})", false},
             {R"("csi": {"driver": "d"})", false},
             {R"("persistentVolumeClaim": {"claimName": "c", "readOnly": true})", true},
             {R"("persistentVolumeClaim": {"claimName": "c"})", false},
             {R"("nfs": {"server": "s", "path": "/", "readOnly": true})", true},
             {R"("csi": {"driver": "d", "readOnly": "true"})", false},
             {R"("csi": 3)", false},
             {R"("emptyDir": {})", false}}) {
        const auto document =
            JsonDocument::parse(R"({"spec": {"volumes": [{"name": "v", )" + volume +
                                R"(}], "containers": [{"name": "main",
                "volumeMounts": [{"name": "v", "mountPath": "/etc"}]}]}})");
        ASSERT_TRUE(document) << volume;
        const auto setups = read_container_setups(document->root());
        EXPECT_EQ(setups.at(0).mounts.at(0).read_only, is_read_only) << volume;
    }
}

TEST(ContainerSetups, OfAnotherForm) {
    for (const char* text : {"{}", "3", R"({"spec": {"containers": {"name": "main"}}})",
                             R"({"spec": {"containers": [3, null]}})"}) {
        const auto document = JsonDocument::parse(text);
        ASSERT_TRUE(document);
        for (const ContainerSetup& setup : read_container_setups(document->root()))
            EXPECT_EQ(setup, ContainerSetup{}) << text;
    }
}

}  // namespace
}  // namespace tessera

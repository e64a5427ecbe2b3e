// Goal: no mount of a pod covers, replaces or prevents a mount that enforces its share, with any
// spelling of the path. Mounts that do not affect ours are allowed.
#include "domain/container_start/mount_conflicts.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

const std::array<std::string, 3> kOurs = {"/usr/local/tessera/limits", std::string(kPreloadList),
                                          std::string(kNixPreloadList)};
constexpr const char* kConfigMap =
    "/var/lib/kubelet/pods/0f3c/volumes/kubernetes.io~configmap/settings";

std::string refusal(const ContainerMount& mount, std::span<const std::string> merge_from = {}) {
    const auto checked = check_mounts({.name = "main", .mounts = {mount}}, kOurs, merge_from);
    return checked ? "" : checked.error().text;
}

TEST(NormalizedPath, Table) {
    for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
             {"/etc/ld.so.preload", "/etc/ld.so.preload"},
             {"/etc/ld.so.preload/", "/etc/ld.so.preload"},
             {"/etc/ld.so.preload//", "/etc/ld.so.preload"},
             {"//etc///ld.so.preload", "/etc/ld.so.preload"},
             {"/etc/./ld.so.preload/.", "/etc/ld.so.preload"},
             {"/etc/x/../ld.so.preload", "/etc/ld.so.preload"},
             {"/../etc/ld.so.preload", "/etc/ld.so.preload"},
             {"etc/ld.so.preload", "/etc/ld.so.preload"},
             {"/etc/...", "/etc/..."},
             {"", "/"},
             {"/", "/"},
             {"..", "/"}})
        EXPECT_EQ(normalized_path(path), expected) << path;
}

TEST(IsAtOrBelow, Table) {
    EXPECT_TRUE(is_at_or_below("/etc", "/etc"));
    EXPECT_TRUE(is_at_or_below("/etc/a", "/etc"));
    EXPECT_TRUE(is_at_or_below("/etc", "/"));
    EXPECT_FALSE(is_at_or_below("/etcetera", "/etc"));
    EXPECT_FALSE(is_at_or_below("/", "/etc"));
    EXPECT_FALSE(is_at_or_below("/usr", "/etc"));
}

TEST(VolumeOf, Table) {
    EXPECT_EQ(volume_of(kConfigMap), "settings");
    EXPECT_EQ(volume_of("/var/lib/kubelet/pods/0f3c/volume-subpaths/settings/main/0"), "settings");
    EXPECT_EQ(volume_of("/var/lib/kubelet/pods/0f3c/volumes/kubernetes.io~csi/disk/mount"), "disk");
    EXPECT_EQ(volume_of("/var/lib/kubelet/pods/0f3c/containers/main/5a1b"),
              "terminationMessagePath");
    EXPECT_EQ(volume_of("/opt/volumes"), "/opt/volumes");
    EXPECT_EQ(volume_of("/data"), "/data");
    EXPECT_EQ(volume_of(""), "");
}

TEST(MountConflicts, AtOrBelowOneOfOurs) {
    for (const char* path : {"/etc/ld.so.preload", "/etc/ld.so.preload/", "/etc//ld.so.preload",
                             "/etc/ld-nix.so.preload", "/etc/ld.so.preload/more",
                             "/usr/local/tessera/limits/", "/usr/../etc/ld.so.preload"}) {
        for (const bool read_only : {true, false}) {
            const std::string text = refusal({path, kConfigMap, read_only});
            EXPECT_NE(text.find("volume settings is mounted at " + std::string(path)),
                      std::string::npos)
                << path << ": " << text;
        }
    }
}

// Goal: things that are no volumes but have a path of the pod's choice count, too.
TEST(MountConflicts, TerminationMessagesAndBlockVolumes) {
    for (const char* path :
         {"/etc/ld.so.preload/", "//etc/ld.so.preload", "/usr/local/tessera/limits"}) {
        EXPECT_NE(refusal({path, "", false, std::string(kTerminationMessage)})
                      .find("the file of terminationMessagePath is mounted at"),
                  std::string::npos);
        const auto device =
            check_mounts({.name = "main", .mounts = {}, .devices = {"/dev/x", path}}, kOurs, {});
        ASSERT_FALSE(device);
        EXPECT_NE(device.error().text.find("another devicePath"), std::string::npos);
    }
    EXPECT_TRUE(check_mounts({.name = "main", .mounts = {}, .devices = {"/dev/x"}}, kOurs, {}));
    // Beside a merged list, it would be a second mount at the same path.
    const ContainerMount injected{"/etc/ld.so.preload", "/opt/injector/list", true, "apm"};
    const ContainerMount message{"/etc/ld.so.preload", "", false, std::string(kTerminationMessage)};
    EXPECT_FALSE(check_mounts({.name = "main", .mounts = {injected, message}}, kOurs,
                              std::array<std::string, 1>{"/opt/injector"}));
}

TEST(MountConflicts, AboveOneOfOurs) {
    for (const char* path : {"/etc", "/etc/", "/usr", "/usr/local", "/usr/local/tessera", "/"}) {
        EXPECT_EQ(refusal({path, "/empty-dir", false}), "") << path;
        EXPECT_NE(refusal({path, kConfigMap, true}).find("read-only"), std::string::npos) << path;
    }
}

TEST(MountConflicts, Elsewhere) {
    for (const char* path : {"/etc/hosts", "/etc/ld.so.preload.d", "/etc/ld.so.pre", "/data",
                             "/usr/local/tessera/other", "/usr/local/tesseract", "/dev/shm"})
        EXPECT_EQ(refusal({path, kConfigMap, true}), "") << path;
}

// Goal: an injector's list is merged only if the administrator allows its folder.
TEST(MountConflicts, MergesAnInjectorsList) {
    const std::array<std::string, 1> from = {"/opt/injector"};
    const ContainerMount injected{"/etc/ld.so.preload", "/opt/injector/ld.so.preload", true};
    EXPECT_NE(refusal(injected).find("(of /opt/injector/ld.so.preload) to the agent's "
                                     "--preload-merge-from"),
              std::string::npos);
    EXPECT_EQ(refusal({"/usr/local/tessera/limits", "/x", true}).find("--preload-merge-from"),
              std::string::npos);
    const auto merged = check_mounts({.name = "main", .mounts = {injected}}, kOurs, from);
    ASSERT_TRUE(merged) << merged.error().text;
    EXPECT_EQ(*merged, injected);
    for (const char* source : {"/opt/injector-2/ld.so.preload", "/opt/injector/../evil", "/opt"})
        EXPECT_NE(refusal({"/etc/ld.so.preload", source, true}, from), "") << source;
    EXPECT_NE(refusal({"/usr/local/tessera/limits", "/opt/injector/limits", true}, from), "");
    EXPECT_NE(refusal({"/etc/ld.so.preload/x", "/opt/injector/x", true}, from), "");
    EXPECT_NE(refusal({"/etc/ld.so.preload/", "/opt/injector/x", true}, from), "")
        << "the runtime would keep it beside ours";
}

}  // namespace
}  // namespace tessera

#include "wire/workload/code_sync_json.hpp"

#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kSecretVolume = "code-secret";
// The user of git-sync's image. Source: git-sync's docs/ssh.md.
constexpr int kGitSyncUser = 65'533;
// ssh refuses a key that others may read only if the key is its own user's, and the files of a
// Secret are root's. So no fsGroup is needed, which would change the owner of the user's volumes.
constexpr int kReadable = 0444;

void write_mount(JsonWriter& w, std::string_view volume, std::string_view path, bool read_only) {
    w.object([&] {
        w.member("name", volume);
        w.member("mountPath", path);
        if (read_only) w.member("readOnly", true);
    });
}

StringMap cpu_and_memory(const StringMap& amounts) {
    StringMap out;
    for (const char* resource : {"cpu", "memory"}) {
        const auto amount = amounts.find(resource);
        if (amount != amounts.end()) out.insert(*amount);
    }
    return out;
}

// The main container's: the pod requests the larger of both.
void write_amounts(JsonWriter& w, const PodTemplate& pod) {
    const StringMap limits = cpu_and_memory(pod.limits);
    const StringMap requests = cpu_and_memory(pod.requests);
    if (limits.empty()) return;
    w.object("resources", [&] {
        write_map(w, "limits", limits);
        if (!requests.empty()) write_map(w, "requests", requests);
    });
}

void write_security(JsonWriter& w) {
    w.object("securityContext", [&] {
        w.member("runAsUser", kGitSyncUser);
        w.member("runAsGroup", kGitSyncUser);
        w.member("runAsNonRoot", true);
        w.member("allowPrivilegeEscalation", false);
        w.object("capabilities", [&] { w.array("drop", [&] { w.item("ALL"); }); });
        w.object("seccompProfile", [&] { w.member("type", "RuntimeDefault"); });
    });
}

}  // namespace

void write_code_container(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.code) return;
    w.array("initContainers", [&] {
        w.object([&] {
            w.member("name", kCodeContainer);
            w.member("image", pod.code->image);
            w.member("imagePullPolicy", pod.pull_policy);
            write_env(w, pod.code->env);
            write_amounts(w, pod);
            w.array("volumeMounts", [&] {
                write_mount(w, kCodeVolume, kCodeRoot, false);
                if (!pod.code->secret.empty()) write_mount(w, kSecretVolume, kCodeSecretPath, true);
            });
            write_security(w);
        });
    });
}

void write_code_mount(JsonWriter& w, const PodTemplate& pod) {
    if (pod.code) write_mount(w, kCodeVolume, pod.code->path, false);
}

void write_code_volumes(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.code) return;
    w.object([&] {
        w.member("name", kCodeVolume);
        w.object("emptyDir", [] {});
    });
    if (pod.code->secret.empty()) return;
    w.object([&] {
        w.member("name", kSecretVolume);
        w.object("secret", [&] {
            w.member("secretName", pod.code->secret);
            w.member("defaultMode", kReadable);
            // Without the Secret git-sync says what it lacks; otherwise only an event would.
            w.member("optional", true);
        });
    });
}

}  // namespace tessera::workload

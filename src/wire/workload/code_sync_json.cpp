#include "wire/workload/code_sync_json.hpp"

#include "wire/workload/init_container_json.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kSecretVolume = "code-secret";
// The user of git-sync's image. Source: git-sync's docs/ssh.md.
constexpr int kGitSyncUser = 65'533;
// ssh refuses a key that others may read only if the key is its own user's, and the files of a
// Secret are root's. So no fsGroup is needed, which would change the owner of the user's volumes.
constexpr int kReadable = 0444;

}  // namespace

void write_code_container(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.code) return;
    w.object([&] {
        w.member("name", kCodeContainer);
        w.member("image", pod.code->image);
        w.member("imagePullPolicy", pod.pull_policy);
        write_env(w, pod.code->env);
        write_init_amounts(w, pod);
        w.array("volumeMounts", [&] {
            write_mount(w, kCodeVolume, kCodeRoot, false);
            if (!pod.code->secret.empty()) write_mount(w, kSecretVolume, kCodeSecretPath, true);
        });
        write_init_security(w, kGitSyncUser);
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

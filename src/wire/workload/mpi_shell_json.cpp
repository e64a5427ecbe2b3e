#include "wire/workload/mpi_shell_json.hpp"

#include "domain/training/mpi_paths.hpp"
#include "wire/workload/init_container_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kShellVolume = "tessera-mpi";
constexpr std::string_view kSecretVolume = "tessera-mpi-secret";
constexpr std::string_view kInstalled = "/usr/bin/tessera-mpi-shell";  // in Tessera's image
constexpr int kUser = 65'532;                                          // nonroot in that image
// The main container may have any user.
constexpr int kReadable = 0444;

}  // namespace

void write_shell_container(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.shell) return;
    w.object([&] {
        w.member("name", kShellContainer);
        w.member("image", pod.shell->image);
        w.member("imagePullPolicy", "IfNotPresent");
        w.array("command", [&] {
            w.item(kInstalled);
            w.item("install");
            w.item(kShellFolder);
        });
        write_init_amounts(w, pod);
        w.array("volumeMounts", [&] { write_mount(w, kShellVolume, kShellFolder, false); });
        write_init_security(w, kUser);
    });
}

void write_shell_mounts(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.shell) return;
    write_mount(w, kShellVolume, kShellFolder, true);
    write_mount(w, kSecretVolume, kShellSecretFolder, true);
}

void write_shell_volumes(JsonWriter& w, const PodTemplate& pod) {
    if (!pod.shell) return;
    w.object([&] {
        w.member("name", kShellVolume);
        w.object("emptyDir", [] {});
    });
    w.object([&] {
        w.member("name", kSecretVolume);
        w.object("secret", [&] {
            w.member("secretName", pod.shell->secret);
            w.member("defaultMode", kReadable);
        });
    });
}

}  // namespace tessera::workload

#include "domain/training/tensorboard.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/workload/refuse_flag.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kFlag = "--logdir";

// "/logs/" and "/logs" are the same folder.
std::string_view without_end(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.remove_suffix(1);
    return path;
}

bool is_inside(std::string_view path, std::string_view folder) {
    folder = without_end(folder);
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

Result<> check_logdir(std::string_view path) {
    const bool is_path = path.size() > 1 && path.starts_with('/') &&
                         path.find("//") == std::string_view::npos &&
                         path.find("/..") == std::string_view::npos;
    if (is_path) return {};
    return refuse(kFlag, fmt::format("\"{}\" is not the absolute path of a folder", path));
}

// The mount that has the folder; of several, the innermost one.
const Mount* mount_of(const PodTemplate& pod, std::string_view path) {
    const Mount* found = nullptr;
    for (const Mount& mount : pod.mounts) {
        const bool is_inner = found == nullptr || mount.path.size() > found->path.size();
        if (is_inside(path, mount.path) && is_inner) found = &mount;
    }
    return found;
}

// TensorBoard must see what the job writes.
Result<Mount> shared_mount(const PodTemplate& pod, std::string_view logdir) {
    const Mount* mount = mount_of(pod, logdir);
    if (mount == nullptr || mount->kind == VolumeKind::temporary) {
        return refuse(kFlag,
                      fmt::format("{} is not on a volume that TensorBoard can share; mount one "
                                  "there, as in --data CLAIM:{}, or name a folder on a volume",
                                  logdir, logdir));
    }
    // The variables of the expression are those of the job's pods.
    if (mount->sub_path_expr.find("$(") != std::string::npos) {
        return refuse(kFlag, fmt::format("{} is on a volume of which each pod has a folder of its "
                                         "own (--data-subpath-expr); use another volume",
                                         logdir));
    }
    Mount out = *mount;
    out.read_only = true;
    return out;
}

Result<> check_unused(const TensorboardFlags& flags) {
    if (!flags.image.empty()) return refuse("--tensorboard-image", "needs --tensorboard");
    if (!flags.logdir.empty()) return refuse(kFlag, "needs --tensorboard");
    return {};
}

}  // namespace

std::string tensorboard_name(std::string_view job) {
    return fmt::format("{}-tensorboard", job);
}

Result<> add_tensorboard(const TensorboardFlags& flags, Training& job) {
    if (!flags.wanted) return check_unused(flags);
    const PodTemplate& main = job.roles.front().pod;
    const std::string logdir(
        without_end(flags.logdir.empty() ? kTensorboardLogdir : std::string_view(flags.logdir)));
    TRY_VOID(check_logdir(logdir));
    PodTemplate pod;
    pod.container = "tensorboard";
    pod.image = flags.image.empty() ? std::string(kTensorboardImage) : flags.image;
    pod.pull_policy = main.pull_policy;
    pod.pull_secrets = main.pull_secrets;
    pod.command = {"tensorboard",
                   "--logdir",
                   unexpanded(logdir),
                   "--host",
                   "0.0.0.0",
                   "--port",
                   std::to_string(kTensorboardPort)};
    // Images of CUDA would otherwise get all GPUs on a node without Tessera.
    pod.env = {{.name = "NVIDIA_VISIBLE_DEVICES", .value = "void"}};
    TRY(Mount mount, shared_mount(main, logdir));
    pod.mounts.push_back(std::move(mount));
    pod.ports = {{.name = "http", .number = kTensorboardPort}};
    pod.readiness = Probe{.action = ProbeAction::tcp, .port = kTensorboardPort};
    // Nodes with GPUs often have this taint, and only pods that request a GPU tolerate it.
    pod.tolerations = main.tolerations;
    pod.tolerations.push_back({.key = "nvidia.com/gpu", .op = "Exists"});
    job.tensorboard = std::move(pod);
    return {};
}

}  // namespace tessera::workload

#include "app/workload/code_text.hpp"

#include <fmt/format.h>

#include "domain/workload/pod_template.hpp"

namespace tessera {

std::string code_hint(const workload::WorkloadPod& pod, const std::string& job) {
    if (pod.init != workload::kCodeContainer || !pod.status.starts_with("Init:")) return {};
    const auto is_about = [&](std::string_view word) {
        return pod.status.find(word) != std::string::npos;
    };
    if (is_about("Image")) return "; check --sync-image and --image-pull-secret";
    if (is_about("CreateContainerConfigError"))
        return "; check the Secret of --sync-secret, which needs the keys username and password";
    const std::string log = fmt::format("tessera logs {}", job);
    if (is_about("/")) return fmt::format("; it copies the code from git, see {}", log);
    return fmt::format(
        "; the code could not be copied from git: see {}, and check --sync-source, --sync-branch, "
        "--sync-revision and --sync-secret",
        log);
}

}  // namespace tessera

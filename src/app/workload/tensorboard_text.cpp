#include "app/workload/tensorboard_text.hpp"

#include <fmt/format.h>

#include "domain/training/tensorboard.hpp"

namespace tessera {

using workload::TrainingStatus;

std::string tensorboard_url(const TrainingStatus& job) {
    return fmt::format("http://{}.{}.svc:{}", workload::tensorboard_name(job.name), job.ns,
                       workload::kTensorboardPort);
}

std::string tensorboard_why(const TrainingStatus& job) {
    if (!job.tensorboard) return "its pod is not there yet";
    const workload::WorkloadPod& pod = *job.tensorboard;
    if (pod.containers > 0 && pod.ready == pod.containers && pod.status == "Running") return {};
    return fmt::format("pod {} is {}{}", pod.name, pod.status,
                       pod.why.empty() ? "" : ": " + pod.why);
}

std::string tensorboard_text(const TrainingStatus& job) {
    if (!job.has_tensorboard) return {};
    const std::string why = tensorboard_why(job);
    if (!why.empty()) return fmt::format("\nTensorboard:\n  It does not run yet: {}\n", why);
    return fmt::format(
        "\nTensorboard:\n  Your tensorboard is available by: tessera tensorboard {} -n {}\n",
        job.name, job.ns);
}

}  // namespace tessera

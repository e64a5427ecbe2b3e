#include "app/workload/training_sums.hpp"

#include <algorithm>

namespace tessera {

using workload::RoleStatus;
using workload::TrainingPod;
using workload::TrainingStatus;

int requested_gpus(const TrainingStatus& job) {
    int sum = 0;
    for (const RoleStatus& role : job.roles)
        sum += role.replicas * role.gpus.whole;
    return sum;
}

Bytes requested_memory(const TrainingStatus& job) {
    Bytes sum;
    for (const RoleStatus& role : job.roles) {
        if (role.gpus.is_share()) sum += Bytes{role.replicas * role.gpus.memory.count};
    }
    return sum;
}

workload::Gpus requested_by(const TrainingStatus& job, const TrainingPod& one) {
    const auto role = std::ranges::find(job.roles, one.role, &RoleStatus::role);
    return role == job.roles.end() ? workload::Gpus{} : role->gpus;
}

double allocated_gpus(const TrainingStatus& job, const WorkloadView& view) {
    double sum = 0;
    for (const TrainingPod& one : job.pods)
        sum += gpus_in_use(one.pod, view);
    return sum;
}

Bytes allocated_memory(const TrainingStatus& job) {
    Bytes sum;
    for (const TrainingPod& one : job.pods) {
        if (one.pod.phase != "Running") continue;
        for (const GpuShare& share : one.pod.gpus) {
            if (!share.whole) sum += share.memory;
        }
    }
    return sum;
}

workload::Gpus main_gpus(const TrainingStatus& job) {
    const auto role = std::ranges::find_if(
        job.roles, [](const RoleStatus& one) { return one.gpus != workload::Gpus{}; });
    return role == job.roles.end() ? workload::Gpus{} : role->gpus;
}

bool has_shares(const TrainingStatus& job) {
    return main_gpus(job).is_share();
}

bool is_chief(const TrainingStatus& job, const TrainingPod& one) {
    return one.index == 0 && one.role == job.first().role;
}

const workload::WorkloadPod* chief_of(const TrainingStatus& job) {
    const auto chief =
        std::ranges::find_if(job.pods, [&](const TrainingPod& one) { return is_chief(job, one); });
    return chief == job.pods.end() ? nullptr : &chief->pod;
}

}  // namespace tessera

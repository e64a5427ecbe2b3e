#include "adapters/workload/kube_training_roles.hpp"

#include <fmt/format.h>

#include <chrono>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_watch.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/training_json.hpp"
#include "wire/workload/training_status_json.hpp"

namespace tessera {
namespace {

// The API server gives up a patch after this time, and starts one only for a client that waits.
constexpr std::chrono::milliseconds kServersEnd{2'000};

// For kube_watch.hpp.
struct TrainingRoleKind {
    using Changes = TrainingRoleChanges;
    static workload::TrainingStatus read(JsonValue json) {
        if (auto role = workload::read_training_role(json)) {
            // Long texts of users, which nothing reads here.
            role->arguments.clear();
            role->files.clear();
            role->roles.front().why.clear();
            return *std::move(role);
        }
        workload::TrainingStatus other;
        other.roles.emplace_back().uid = json["metadata"]["uid"].text_or("");
        return other;
    }
    static std::string key(const workload::TrainingStatus& role) { return role.uid(); }
};

}  // namespace

void KubeTrainingRoles::follow_roles(const std::function<void(TrainingRoleChanges)>& sink,
                                     const std::function<void(const Error&)>& on_error,
                                     std::stop_token stop) {
    const std::string path =
        fmt::format("{}?labelSelector={}", path_of(kJobs, ""), workload::kCleanPolicyLabel);
    follow_all(TrainingRoleKind{}, http_, path, sink, on_error, stop);
}

Result<> KubeTrainingRoles::end(const std::string& ns, const workload::RoleEnd& role) {
    const std::string path =
        fmt::format("{}/{}?timeout={}ms", path_of(kJobs, ns), role.object, kServersEnd.count());
    return kube_merge_patch(http_, path, write_role_end(role), kEndTakes - kServersEnd);
}

}  // namespace tessera

// The Jobs of training jobs with several roles, which tessera-controller ends together.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/training/role_end.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

// As PodChanges (kube_api.hpp). Each object is a Job as a training job with this role alone,
// without its pods; a Job that is not ours has an empty name. Jobs are deleted by their uid.
struct TrainingRoleChanges {
    std::vector<workload::TrainingStatus> upserted;
    std::vector<std::string> deleted;
    std::optional<std::set<std::string>> listed;
};

class TrainingRoles {
  public:
    virtual ~TrainingRoles() = default;

    // As KubeApi::follow_pods.
    virtual void follow_roles(const std::function<void(TrainingRoleChanges)>& sink,
                              const std::function<void(const Error&)>& on_error,
                              std::stop_token stop) = 0;
    // One write, which takes effect within kEndTakes of the call, or never. Ending a Job twice
    // changes nothing. not_found if it is gone.
    static constexpr std::chrono::milliseconds kEndTakes{5'000};
    virtual Result<> end(const std::string& ns, const workload::RoleEnd& role) = 0;
};

}  // namespace tessera

// The TrainingRoles port on the API server.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/training_roles.hpp"

namespace tessera {

// It follows only Jobs that have the label kCleanPolicyLabel (training_json.hpp).
class KubeTrainingRoles final : public TrainingRoles {
  public:
    // `api` is the API server and outlives this.
    explicit KubeTrainingRoles(HttpClient& api) : http_(api) {}

    void follow_roles(const std::function<void(TrainingRoleChanges)>& sink,
                      const std::function<void(const Error&)>& on_error,
                      std::stop_token stop) override;
    Result<> end(const std::string& ns, const workload::RoleEnd& role) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera

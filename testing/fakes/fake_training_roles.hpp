// Jobs of training jobs that a test shows, and what was ended.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ports/kube/training_roles.hpp"

namespace tessera {

class FakeTrainingRoles final : public TrainingRoles {
  public:
    std::vector<std::string> ended;            // "NAMESPACE/JOB: REASON"
    std::vector<TrainingRoleChanges> changes;  // that the next follow_roles() shows
    Result<> outcome;                          // of each end()

    void follow_roles(const std::function<void(TrainingRoleChanges)>& sink,
                      const std::function<void(const Error&)>& /*on_error*/,
                      std::stop_token /*stop*/) override {
        for (TrainingRoleChanges& one : std::exchange(changes, {}))
            sink(std::move(one));
    }
    Result<> end(const std::string& ns, const workload::RoleEnd& role) override {
        ended.push_back(ns + "/" + role.object + ": " + role.why);
        return outcome;
    }
};

}  // namespace tessera

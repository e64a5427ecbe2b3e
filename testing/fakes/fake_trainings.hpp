// The training jobs of a cluster without pods: what is created is listed.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/kube/trainings.hpp"

namespace tessera {

class FakeTrainings final : public Trainings {
  public:
    std::vector<workload::TrainingStatus> jobs;
    std::optional<Error> service_error;
    std::vector<std::string> calls;

    Result<std::vector<workload::TrainingStatus>> list(const std::string& ns,
                                                       const std::string& name) override {
        std::vector<workload::TrainingStatus> out;
        std::ranges::copy_if(jobs, std::back_inserter(out), [&](const auto& job) {
            return (ns.empty() || job.ns == ns) && (name.empty() || job.name == name);
        });
        return out;
    }
    Result<std::string> create(const workload::Training& job) override {
        calls.push_back("create " + job.anchor());
        workload::TrainingStatus made;
        made.name = job.name;
        made.ns = job.ns;
        made.type = job.type;
        made.arguments = job.arguments;
        if (!job.roles.front().pod.files.empty()) made.files = files_name(job);
        made.roles.push_back(role_of(job, job.roles.front()));
        if (job.backend == workload::Backend::train_job) made.runtime_uid = "uid-" + job.anchor();
        jobs.push_back(made);
        return made.uid();
    }
    Result<bool> create_service(const workload::Training&, const std::string& owner) override {
        calls.push_back("service of " + owner);
        if (service_error) return fail(*service_error);
        return !std::exchange(jobs.front().has_service, true);
    }
    Result<bool> create_files(const workload::Training& job, const std::string& owner) override {
        calls.push_back("files of " + owner);
        return files_.insert(files_name(job)).second;
    }
    Result<bool> create_secret(const workload::Training&, const std::string& owner) override {
        calls.push_back("secret of " + owner);
        return !std::exchange(has_secret_, true);
    }
    Result<bool> create_role(const workload::Training& job, const workload::Role& role,
                             const std::string& owner) override {
        calls.push_back("role " + role.name + " of " + owner);
        auto& roles = jobs.front().roles;
        const auto same = std::ranges::find(roles, role.name, &workload::RoleStatus::role);
        if (same != roles.end()) return false;
        roles.push_back(role_of(job, role));
        return true;
    }
    Result<bool> create_train_job(const workload::Training& job,
                                  const std::string& owner) override {
        calls.push_back("trainjob of " + owner);
        return files_.insert("trainjob of " + job.name).second;
    }
    Result<bool> create_tensorboard(const workload::Training& job,
                                    const std::string& owner) override {
        calls.push_back("tensorboard of " + owner);
        return files_.insert("deployment of " + job.name).second;
    }
    Result<bool> create_tensorboard_service(const workload::Training& job,
                                            const std::string& owner) override {
        calls.push_back("tensorboard service of " + owner);
        return files_.insert("service of " + job.name).second;
    }
    // Forgets an object, as if it was deleted.
    void forget(const std::string& object) { files_.erase(object); }
    Result<> remove(const workload::TrainingStatus& job) override {
        calls.push_back("remove " + job.uid());
        std::erase_if(jobs, [&](const auto& one) { return one.uid() == job.uid(); });
        return {};
    }
    Result<std::vector<NodeInventory>> nodes() override { return std::vector<NodeInventory>{}; }

  private:
    static workload::RoleStatus role_of(const workload::Training& job, const workload::Role& role) {
        return {.role = role.name,
                .object = job.object(role),
                .uid = "uid-" + job.object(role),
                .owner = {},
                .replicas = role.replicas,
                .gpus = role.pod.gpus,
                .why = {}};
    }

    std::set<std::string> files_;
    bool has_secret_ = false;
};

}  // namespace tessera

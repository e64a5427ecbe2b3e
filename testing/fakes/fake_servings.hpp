// The serving jobs of a cluster without pods: what is created is listed.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "ports/kube/servings.hpp"

namespace tessera {

class FakeServings final : public Servings {
  public:
    std::vector<workload::ServingStatus> jobs;
    Result<std::vector<NodeInventory>> gpus = std::vector<NodeInventory>{};
    std::optional<Error> service_error;
    std::optional<Error> remove_error;
    std::vector<std::string> calls;

    Result<std::vector<workload::ServingStatus>> list(const std::string& ns,
                                                      const std::string& name) override {
        std::vector<workload::ServingStatus> out;
        std::ranges::copy_if(jobs, std::back_inserter(out), [&](const auto& job) {
            return (ns.empty() || job.ns == ns) && (name.empty() || job.id.name == name);
        });
        return out;
    }
    Result<std::string> create(const workload::Serving& job) override {
        calls.push_back("create " + job.id.object());
        workload::ServingStatus made;
        made.id = job.id;
        made.ns = job.ns;
        made.object = job.id.object();
        made.uid = "uid-" + job.id.object();
        made.arguments = job.arguments;
        jobs.push_back(made);
        return made.uid;
    }
    Result<> create_service(const workload::Serving& job, const std::string& owner) override {
        calls.push_back("service of " + owner);
        if (service_error) return fail(*service_error);
        std::ranges::find(jobs, job.id, &workload::ServingStatus::id)->has_service = true;
        return {};
    }
    Result<> create_files(const workload::Serving&, const std::string& owner) override {
        calls.push_back("files of " + owner);
        return {};
    }
    Result<> update(const workload::Serving& job, const workload::ServingStatus&, bool) override {
        calls.push_back("update " + job.id.object());
        return {};
    }
    Result<> remove(const workload::ServingStatus& job) override {
        calls.push_back("remove " + job.uid);
        if (remove_error) return fail(*remove_error);
        std::erase_if(jobs, [&](const auto& one) { return one.uid == job.uid; });
        return {};
    }
    Result<std::vector<NodeInventory>> nodes() override { return gpus; }
    Result<> logs(const std::string&, const std::string&, const LogOptions&,
                  const std::function<void(std::string_view)>& print) override {
        print("log\n");
        return {};
    }
};

}  // namespace tessera

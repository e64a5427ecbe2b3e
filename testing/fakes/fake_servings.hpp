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
    std::optional<Error> create_error;
    std::optional<Error> service_error;
    std::optional<Error> scaling_error;
    std::optional<Error> remove_error;
    std::vector<std::string> calls;
    std::vector<workload::ServingChange> changes;

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
        if (create_error) return fail(*create_error);
        const auto same =
            std::ranges::find(jobs, job.id.object(), &workload::ServingStatus::object);
        if (same != jobs.end()) return fail(Code::conflict, "a deployment has this name");
        workload::ServingStatus made;
        made.id = job.id;
        made.ns = job.ns;
        made.object = job.id.object();
        made.uid = "uid-" + job.id.object();
        made.arguments = job.arguments;
        made.in_split = job.in_split;
        if (!job.pod.files.empty()) made.files = files_name(job);
        jobs.push_back(made);
        return made.uid;
    }
    Result<> create_service(const workload::Serving& job, const std::string& owner) override {
        calls.push_back("service of " + owner);
        if (service_error) return fail(*service_error);
        const auto one = std::ranges::find(jobs, owner, &workload::ServingStatus::uid);
        one->has_service = true;
        for (const workload::Port& port : job.pod.ports)
            one->ports.push_back({port.name, port.number});
        return {};
    }
    Result<> create_files(const workload::Serving&, const std::string& owner) override {
        calls.push_back("files of " + owner);
        return {};
    }
    Result<> set_scaling(const workload::Serving& job, const std::string& owner) override {
        auto& scaling = std::ranges::find(jobs, owner, &workload::ServingStatus::uid)->scaling;
        calls.push_back(std::string(!job.scaling ? "unscale "
                                    : scaling    ? "rescale "
                                                 : "scale ") +
                        owner);
        if (scaling_error) return fail(*scaling_error);
        scaling.reset();
        if (job.scaling) {
            scaling.emplace();
            scaling->least = job.scaling->least;
            scaling->most = job.scaling->most;
            if (job.scaling->gpu_use > 0) {
                scaling->metrics.push_back({.name = "tessera_gpu_compute_use",
                                            .target = std::to_string(job.scaling->gpu_use),
                                            .current = {}});
            }
        }
        return {};
    }
    Result<std::vector<workload::File>> files(const workload::ServingStatus&) override {
        return std::vector<workload::File>{};
    }
    Result<> update(const workload::Serving& job, const workload::ServingStatus& before,
                    const workload::ServingChange& change) override {
        calls.push_back("update " + job.id.object());
        changes.push_back(change);
        std::ranges::find(jobs, before.uid, &workload::ServingStatus::uid)->arguments =
            job.arguments;
        return {};
    }
    Result<> remove(const workload::ServingStatus& job) override {
        calls.push_back("remove " + job.uid);
        if (remove_error) return fail(*remove_error);
        std::erase_if(jobs, [&](const auto& one) { return one.uid == job.uid; });
        return {};
    }
    Result<std::vector<NodeInventory>> nodes() override { return gpus; }
};

}  // namespace tessera

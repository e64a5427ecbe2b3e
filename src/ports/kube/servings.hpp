// The serving jobs of a cluster.
#pragma once

#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/serving/serving.hpp"
#include "domain/serving/serving_status.hpp"

namespace tessera {

// A single thread calls. Errors name the missing permission, or have the API server's own text.
class Servings {
  public:
    virtual ~Servings() = default;

    // The jobs of a namespace, or of all if it is empty; `name`: only jobs of this name, or all if
    // it is empty. Ordered by namespace, name and version.
    virtual Result<std::vector<workload::ServingStatus>> list(const std::string& ns,
                                                              const std::string& name) = 0;
    // Creates the Deployment and returns its uid. conflict if there is one of this name.
    virtual Result<std::string> create(const workload::Serving& job) = 0;
    // Create the other objects, owned by the Deployment; no error if it owns them already. If those
    // of a job that was just deleted are still there, they wait until these are gone.
    virtual Result<> create_service(const workload::Serving& job, const std::string& owner) = 0;
    virtual Result<> create_files(const workload::Serving& job, const std::string& owner) = 0;
    // Makes its HorizontalPodAutoscaler, owned by the Deployment, that of the job: creates, changes
    // or deletes it. One that belongs to anything else is not deleted, and is a conflict otherwise.
    virtual Result<> set_scaling(const workload::Serving& job, const std::string& owner) = 0;
    // The files of its pods.
    virtual Result<std::vector<workload::File>> files(const workload::ServingStatus& job) = 0;
    // Records the job's arguments, and makes the change. conflict if another command changed or
    // deleted it since `before` was read.
    virtual Result<> update(const workload::Serving& job, const workload::ServingStatus& before,
                            const workload::ServingChange& change) = 0;
    // Deletes the Deployment with this uid, and with it all that it owns. not_found if it is gone.
    virtual Result<> remove(const workload::ServingStatus& job) = 0;
    // The GPUs of the cluster's nodes.
    virtual Result<std::vector<NodeInventory>> nodes() = 0;
};

}  // namespace tessera

// The training jobs of a cluster.
#pragma once

#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/training/training.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

// A single thread calls. Errors name the missing right, or have the API server's own text.
class Trainings {
  public:
    virtual ~Trainings() = default;

    // The jobs of a namespace, or of all if it is empty; `name`: only the job of this name, or all
    // if it is empty. Ordered by namespace and name. Of one job also TensorBoard's pod.
    virtual Result<std::vector<workload::TrainingStatus>> list(const std::string& ns,
                                                               const std::string& name) = 0;
    // Creates the anchor and returns its uid. conflict if there is one of this name; one of a job
    // that was just deleted is waited for. not_found: the cluster has not the job's backend.
    virtual Result<std::string> create(const workload::Training& job) = 0;
    // Create the other objects, owned by the anchor, and return whether they did: false if it owns
    // the object already. They wait for objects of a job that was just deleted to be gone.
    virtual Result<bool> create_service(const workload::Training& job,
                                        const std::string& owner) = 0;
    virtual Result<bool> create_files(const workload::Training& job, const std::string& owner) = 0;
    virtual Result<bool> create_secret(const workload::Training& job, const std::string& owner) = 0;
    virtual Result<bool> create_role(const workload::Training& job, const workload::Role& role,
                                     const std::string& owner) = 0;
    // Of a job with this backend: starts its pods.
    virtual Result<bool> create_train_job(const workload::Training& job,
                                          const std::string& owner) = 0;
    // The Deployment and the Service of job.tensorboard, which has a value.
    virtual Result<bool> create_tensorboard(const workload::Training& job,
                                            const std::string& owner) = 0;
    virtual Result<bool> create_tensorboard_service(const workload::Training& job,
                                                    const std::string& owner) = 0;
    // Deletes the anchor with its uid, and with it all that it owns.
    virtual Result<> remove(const workload::TrainingStatus& job) = 0;
    // The GPUs of the cluster's nodes.
    virtual Result<std::vector<NodeInventory>> nodes() = 0;
};

}  // namespace tessera

// The Trainings port over HTTP. The user needs the rights to list, create and delete jobs, to list
// and create services, to create configmaps, and to list pods, in the namespace. For TensorBoard:
// to create deployments. For MPI: to create secrets. For TrainJobs: to list, get, create and delete
// trainingruntimes and trainjobs of trainer.kubeflow.org. For the GPUs, nodes and their sizes: to
// list nodes.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/trainings.hpp"

namespace tessera {

class KubeTrainings final : public Trainings {
  public:
    // `api`: the API server; outlives this.
    explicit KubeTrainings(HttpClient& api) : http_(api) {}

    Result<std::vector<workload::TrainingStatus>> list(const std::string& ns,
                                                       const std::string& name) override;
    Result<std::string> create(const workload::Training& job) override;
    Result<bool> create_service(const workload::Training& job, const std::string& owner) override;
    Result<bool> create_files(const workload::Training& job, const std::string& owner) override;
    Result<bool> create_secret(const workload::Training& job, const std::string& owner) override;
    Result<bool> create_role(const workload::Training& job, const workload::Role& role,
                             const std::string& owner) override;
    Result<bool> create_train_job(const workload::Training& job, const std::string& owner) override;
    Result<bool> create_tensorboard(const workload::Training& job,
                                    const std::string& owner) override;
    Result<bool> create_tensorboard_service(const workload::Training& job,
                                            const std::string& owner) override;
    Result<> remove(const workload::TrainingStatus& job) override;
    Result<std::vector<NodeInventory>> nodes() override;

  private:
    HttpClient& http_;
};

}  // namespace tessera

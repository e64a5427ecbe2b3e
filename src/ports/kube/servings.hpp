// The serving jobs of a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/workload/serving.hpp"
#include "domain/workload/serving_status.hpp"

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
    // Create the other objects, owned by the Deployment. create_files() does nothing if the same
    // files are there.
    virtual Result<> create_service(const workload::Serving& job, const std::string& owner) = 0;
    virtual Result<> create_files(const workload::Serving& job, const std::string& owner) = 0;
    // Gives the Deployment the job's pods, and with `replicas` their number. conflict if another
    // command changed or deleted it since `before` was read.
    virtual Result<> update(const workload::Serving& job, const workload::ServingStatus& before,
                            bool replicas) = 0;
    // Deletes the Deployment with this uid, and with it all that it owns. not_found if it is gone.
    virtual Result<> remove(const workload::ServingStatus& job) = 0;
    // The GPUs of the cluster's nodes.
    virtual Result<std::vector<NodeInventory>> nodes() = 0;
    // Passes the log of a pod's container to `print`. `follow`: until the container ends.
    // `previous`: of its last start.
    struct LogOptions {
        std::string container;  // empty: the only one
        bool follow = false;
        bool previous = false;
        bool timestamps = false;
        std::int64_t tail = -1;    // lines; below 0: all
        std::int64_t since_s = 0;  // 0: from the start
    };
    virtual Result<> logs(const std::string& ns, const std::string& pod, const LogOptions& options,
                          const std::function<void(std::string_view)>& print) = 0;
};

}  // namespace tessera

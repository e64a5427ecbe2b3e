// What the cluster has of a serving job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/workload/serving.hpp"

namespace tessera::workload {

struct ServingPod {
    std::string name;
    std::string status;  // as kubectl shows it: Running, Pending, CrashLoopBackOff
    int ready = 0;       // containers
    int containers = 0;
    int restarts = 0;
    std::string node;  // empty: not bound
    std::string node_ip;
    std::string ip;
    std::int64_t created_s = 0;  // since 1970
    std::vector<GpuShare> gpus;  // that it was given
    std::string why;             // why it is not ready, and what to do; empty if it is
};

struct ServicePort {
    std::string name;
    int port = 0;
    int node_port = 0;  // 0: none
};

struct ServingStatus {
    ServingName id;
    std::string ns;
    std::string object;    // the name of its Deployment
    std::string uid;       // of the Deployment
    std::string recorded;  // the text that has `arguments`
    int desired = 0;
    int available = 0;
    std::int64_t created_s = 0;
    Gpus gpus;  // of each pod
    bool has_service = false;
    std::string address;  // the Service's cluster IP
    std::vector<ServicePort> ports;
    std::vector<std::string> arguments;  // of `tessera serve`
    std::vector<ServingPod> pods;
    std::string why;  // why it has fewer pods than desired; empty if it has them
};

// The amount of GPUs that a job's running pods have, as Arena counts it: a share is its part of
// the GPU's memory. `memory_of` gives the memory of a GPU, 0 if it is not known.
double gpus_in_use(const ServingStatus& job, const auto& memory_of) {
    double sum = 0;
    for (const ServingPod& pod : job.pods) {
        if (pod.status != "Running") continue;
        for (const GpuShare& share : pod.gpus) {
            const Bytes memory = memory_of(share.uuid);
            if (share.whole) {
                sum += 1;
            } else if (memory.count > 0) {
                sum += static_cast<double>(share.memory.count) / static_cast<double>(memory.count);
            }
        }
    }
    return sum;
}

}  // namespace tessera::workload

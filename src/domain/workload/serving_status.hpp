// What the cluster has of a serving job.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "domain/workload/serving.hpp"
#include "domain/workload/workload_pod.hpp"

namespace tessera::workload {

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
    std::vector<WorkloadPod> pods;
    // The ConfigMap with its files; empty: none. The files as path and key in it.
    std::string files;
    std::vector<std::pair<std::string, std::string>> file_keys;
    std::string why;  // why it has fewer pods than desired; empty if it has them
};

}  // namespace tessera::workload

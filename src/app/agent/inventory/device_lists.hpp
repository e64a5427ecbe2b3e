// How the node's GPUs are shown to kubelet: lists of devices for the resources that a device plugin
// counts, and plain amounts for the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct DeviceListOptions {
    int slots_per_gpu = 64;  // how many containers may share one GPU
};

// Device lists by resource. Ids name the GPU and a number, and never change while the GPU is the
// same.
DeviceLists device_lists(const NodeInventory& node, const DeviceListOptions& options);

// Totals for people and quotas, by resource: tessera.dev/gpu-memory, tessera.dev/gpu-cores,
// aliyun.com/gpu-count. GPUs that are not usable count: kubelet compares the totals with what pods
// use already.
std::map<std::string, std::string, std::less<>> node_amounts(const NodeInventory& node);

// invalid_argument if a list would not fit into one message to kubelet (4 MiB). The error has the
// numbers and the fix.
Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions& options);

}  // namespace tessera

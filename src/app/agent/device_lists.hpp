// What the node's cards become for kubelet: lists of devices for resources that a device plugin
// counts, plain amounts for those that it can't.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct DeviceListOptions {
    int slots_per_card = 64;  // how many containers may share one card
};

// Device lists by resource. Ids name the card and a number, and never change while the card is the
// same.
DeviceLists device_lists(const NodeInventory& node, const DeviceListOptions& options);

// Sums for people and quotas, by resource: tessera.dev/gpu-memory, tessera.dev/gpu-cores,
// aliyun.com/gpu-count. Cards that are not usable count: kubelet compares them with what runs
// already.
std::map<std::string, std::string, std::less<>> node_amounts(const NodeInventory& node);

// invalid_argument when a list would not fit into one message to kubelet (4 MiB), with the numbers
// and the fix.
Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions& options);

}  // namespace tessera

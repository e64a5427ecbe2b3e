// How the node's GPUs are shown to kubelet: lists of devices for the resources that a device plugin
// counts, and plain amounts for the others.
#pragma once

#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/dialect/dialect.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct DeviceListOptions {
    int slots_per_gpu = 64;                      // how many containers may share one GPU
    const Dialects* dialects = &all_dialects();  // that are shown; outlives the options
};

// Device lists by resource (Dialect::device_lists). Ids name the GPU and a number, and never change
// while the GPU is the same.
DeviceLists device_lists(const NodeInventory& node, const DeviceListOptions& options);

// Totals for people and quotas, by resource (Dialect::add_amounts).
StringMap node_amounts(const NodeInventory& node, const Dialects& dialects);

// The names of the plugins' sockets in kubelet's folder, by resource, where a dialect sets one.
StringMap plugin_sockets(const Dialects& dialects);

// invalid_argument if a list would not fit into one message to kubelet (4 MiB). The error has the
// numbers and the fix.
Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions& options);

}  // namespace tessera

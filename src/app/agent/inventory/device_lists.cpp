#include "app/agent/inventory/device_lists.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace tessera {
namespace {

// gRPC's default limit for a message that kubelet receives, less a reserve for the envelope.
constexpr std::int64_t kMostBytes = (std::int64_t{4} << 20) - 1024;
// Tag, length and health text around an id in a ListAndWatch message (field numbers are below 16).
constexpr std::int64_t kBytesAroundId = 2 + 2 + 2 + 9;

template <class Do>
void each_list(const Dialects& dialects, Do&& visit) {
    for (const Dialect* dialect : dialects.on()) {
        for (const DeviceList& list : dialect->device_lists)
            visit(list);
    }
}

// Computes the size without building the list, which may also be too large for the agent's memory.
Result<> check_size(const DeviceList& list, const NodeInventory& node, int slots_per_gpu) {
    std::int64_t devices = 0;
    std::int64_t bytes = 0;
    for (const Gpu& gpu : node.gpus) {
        const std::int64_t count = list.count(node, gpu, slots_per_gpu);
        const std::string id = fmt::format("{}{}{}", gpu.uuid.str(), list.separator, count);
        devices += count;
        bytes += count * (static_cast<std::int64_t>(id.size()) + kBytesAroundId);
    }
    if (bytes <= kMostBytes) return {};
    return fail(Code::invalid_argument,
                fmt::format("{}: {} devices on this node make a list of {} bytes, and kubelet "
                            "takes {}; {}",
                            list.resource, devices, bytes, kMostBytes, list.fix));
}

}  // namespace

DeviceLists device_lists(const NodeInventory& node, const DeviceListOptions& options) {
    DeviceLists lists;
    each_list(*options.dialects, [&](const DeviceList& list) {
        std::vector<PluginDevice>& devices = lists[std::string(list.resource)];
        for (const Gpu& gpu : node.gpus) {
            const std::int64_t count = list.count(node, gpu, options.slots_per_gpu);
            for (std::int64_t n = 0; n < count; ++n) {
                devices.push_back(
                    {fmt::format("{}{}{}", gpu.uuid.str(), list.separator, n), gpu.usable()});
            }
        }
    });
    return lists;
}

StringMap node_amounts(const NodeInventory& node, const Dialects& dialects) {
    StringMap amounts;
    for (const Dialect* dialect : dialects.on()) {
        if (dialect->add_amounts != nullptr) dialect->add_amounts(node, amounts);
    }
    return amounts;
}

StringMap plugin_sockets(const Dialects& dialects) {
    StringMap sockets;
    each_list(dialects, [&](const DeviceList& list) {
        if (!list.socket.empty()) sockets.emplace(list.resource, list.socket);
    });
    return sockets;
}

Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions& options) {
    Result<> checked;
    each_list(*options.dialects, [&](const DeviceList& list) {
        if (checked) checked = check_size(list, node, options.slots_per_gpu);
    });
    return checked;
}

}  // namespace tessera

#include "app/agent/inventory/device_lists.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "domain/request/dialect.hpp"

namespace tessera {
namespace {

// gRPC's default limit for a message that kubelet receives, less a reserve for the envelope.
constexpr std::int64_t kMostBytes = (std::int64_t{4} << 20) - 1024;
// Tag, length and health text around an id in a ListAndWatch message (field numbers are below 16).
constexpr std::int64_t kBytesAroundId = 2 + 2 + 2 + 9;

// How the node's GPUs become the device list of a resource.
struct ListShape {
    std::string_view resource;
    std::string_view separator;  // in an id, between the GPU's UUID and a number
    std::int64_t (*count)(const NodeInventory&, const Gpu&, const DeviceListOptions&);
    std::string_view fix;  // how to shorten the list if it is too long
};

constexpr std::array kLists = {
    ListShape{resource::kGpu, "-slot-",
              [](const NodeInventory&, const Gpu&, const DeviceListOptions& options) {
                  return std::int64_t{options.slots_per_gpu};
              },
              "lower slots_per_gpu"},
    // gpushare's own format, so that kubelet's checkpoint stays readable when Tessera takes a node
    // over.
    ListShape{resource::kAliyunMem, "-_-",
              [](const NodeInventory& node, const Gpu& gpu, const DeviceListOptions&) {
                  return gpu.capacity().count / bytes_per_unit(node.unit).count;
              },
              "set memory_unit to GiB; pods that need finer amounts ask for "
              "tessera.dev/gpu-memory"},
};

}  // namespace

DeviceLists device_lists(const NodeInventory& node, const DeviceListOptions& options) {
    DeviceLists lists;
    for (const ListShape& shape : kLists) {
        std::vector<PluginDevice>& devices = lists[std::string(shape.resource)];
        for (const Gpu& gpu : node.gpus) {
            const std::int64_t count = shape.count(node, gpu, options);
            for (std::int64_t n = 0; n < count; ++n) {
                devices.push_back(
                    {fmt::format("{}{}{}", gpu.uuid.str(), shape.separator, n), gpu.usable()});
            }
        }
    }
    return lists;
}

std::map<std::string, std::string, std::less<>> node_amounts(const NodeInventory& node) {
    std::int64_t memory = 0;
    for (const Gpu& gpu : node.gpus)
        memory += gpu.capacity().count;
    std::map<std::string, std::string, std::less<>> amounts;
    amounts.emplace(resource::kGpuMemory, std::to_string(memory));
    amounts.emplace(resource::kGpuCores, std::to_string(node.gpus.size() * 100));
    amounts.emplace(resource::kAliyunCount, std::to_string(node.gpus.size()));
    return amounts;
}

// Computes the size without building the list, which may also be too large for the agent's memory.
Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions& options) {
    for (const ListShape& shape : kLists) {
        std::int64_t devices = 0;
        std::int64_t bytes = 0;
        for (const Gpu& gpu : node.gpus) {
            const std::int64_t count = shape.count(node, gpu, options);
            const std::string id = fmt::format("{}{}{}", gpu.uuid.str(), shape.separator, count);
            devices += count;
            bytes += count * (static_cast<std::int64_t>(id.size()) + kBytesAroundId);
        }
        if (bytes <= kMostBytes) continue;
        return fail(Code::invalid_argument,
                    fmt::format("{}: {} devices on this node make a list of {} bytes, and kubelet "
                                "takes {}; {}",
                                shape.resource, devices, bytes, kMostBytes, shape.fix));
    }
    return {};
}

}  // namespace tessera

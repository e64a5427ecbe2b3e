#include "app/agent/device_lists.hpp"

#include <fmt/format.h>

#include "domain/request/dialect.hpp"

namespace tessera {
namespace {

// gRPC's default limit for a message that kubelet receives; some of it is left to the envelope.
constexpr std::int64_t kMostBytes = (std::int64_t{4} << 20) - 1024;
// Tag, length and health text around an id in a ListAndWatch message (field numbers are below 16).
constexpr std::int64_t kBytesAroundId = 2 + 2 + 2 + 9;

std::vector<PluginDevice> repeat(const NodeInventory& node, std::string_view separator,
                                 const auto& count_of) {
    std::vector<PluginDevice> devices;
    for (const Gpu& gpu : node.gpus) {
        const std::int64_t count = count_of(gpu);
        for (std::int64_t n = 0; n < count; ++n) {
            devices.push_back({fmt::format("{}{}{}", gpu.uuid.str(), separator, n), gpu.healthy});
        }
    }
    return devices;
}

std::int64_t units_of(const NodeInventory& node, const Gpu& gpu) {
    return gpu.capacity().count / bytes_per_unit(node.unit).count;
}

}  // namespace

std::map<std::string, std::vector<PluginDevice>> device_lists(const NodeInventory& node,
                                                              const DeviceListOptions& options) {
    std::map<std::string, std::vector<PluginDevice>> lists;
    lists.emplace(resource::kGpu,
                  repeat(node, "-slot-", [&](const Gpu&) { return options.slots_per_card; }));
    // gpushare's own format: kubelet's checkpoint of a node that is taken over stays readable.
    lists.emplace(resource::kAliyunMem,
                  repeat(node, "-_-", [&](const Gpu& gpu) { return units_of(node, gpu); }));
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

Result<> check_list_sizes(const NodeInventory& node, const DeviceListOptions&) {
    std::int64_t devices = 0;
    std::int64_t bytes = 0;
    for (const Gpu& gpu : node.gpus) {
        const std::int64_t units = units_of(node, gpu);
        const auto id =
            static_cast<std::int64_t>(fmt::format("{}-_-{}", gpu.uuid.str(), units).size());
        devices += units;
        bytes += units * (id + kBytesAroundId);
    }
    if (bytes <= kMostBytes) return {};
    return fail(
        Code::invalid_argument,
        fmt::format("memory_unit MiB makes {} devices of {} on this node, a list of {} bytes; "
                    "kubelet takes {}. Set memory_unit to GiB; pods that need finer amounts ask "
                    "for {}",
                    devices, resource::kAliyunMem, bytes, kMostBytes, resource::kGpuMemory));
}

}  // namespace tessera

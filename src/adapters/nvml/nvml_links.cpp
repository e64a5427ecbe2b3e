#include "adapters/nvml/nvml_links.hpp"

#include <bit>

namespace tessera {
namespace {

// Of a driver without the entry point, or a card without the feature, the answer is no. One that
// says nothing now may say it later.
bool is_final(nvmlReturn_t answer) {
    return answer == NVML_SUCCESS || answer == NVML_ERROR_NOT_SUPPORTED ||
           answer == NVML_ERROR_FUNCTION_NOT_FOUND;
}

}  // namespace

CardLinks LinkReader::of(std::size_t position, std::span<const nvmlDevice_t> devices,
                         std::span<const GpuReading> readings) {
    CardLinks links{.numa = numa(devices[position])};
    for (std::size_t other = 0; other < devices.size(); ++other) {
        const int index = readings[other].index;
        if (other == position || index > 63) continue;
        const Pair to = pair(devices[position], devices[other]);
        const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(index);
        if (to.pcie) links.pcie |= bit;
        if (to.nvlink) links.nvlink |= bit;
    }
    return links;
}

LinkReader::Pair LinkReader::pair(nvmlDevice_t a, nvmlDevice_t b) {
    const auto known = pairs_.find({a, b});
    if (known != pairs_.end()) return known->second;
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    const nvmlReturn_t by_pcie = nvml_.nvmlDeviceGetTopologyCommonAncestor == nullptr
                                     ? NVML_ERROR_FUNCTION_NOT_FOUND
                                     : nvml_.nvmlDeviceGetTopologyCommonAncestor(a, b, &level);
    nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
    const nvmlReturn_t by_nvlink =
        nvml_.nvmlDeviceGetP2PStatus == nullptr
            ? NVML_ERROR_FUNCTION_NOT_FOUND
            : nvml_.nvmlDeviceGetP2PStatus(a, b, NVML_P2P_CAPS_INDEX_NVLINK, &status);
    const Pair found{
        .pcie = by_pcie == NVML_SUCCESS && level <= NVML_TOPOLOGY_MULTIPLE,
        .nvlink = by_nvlink == NVML_SUCCESS && status == NVML_P2P_STATUS_OK,
    };
    if (is_final(by_pcie) && is_final(by_nvlink)) pairs_.emplace(std::pair(a, b), found);
    return found;
}

int LinkReader::numa(nvmlDevice_t device) {
    if (nvml_.nvmlDeviceGetMemoryAffinity == nullptr) return kNumaUnknown;
    const auto known = numas_.find(device);
    if (known != numas_.end()) return known->second;
    unsigned long nodes = 0;
    const nvmlReturn_t got =
        nvml_.nvmlDeviceGetMemoryAffinity(device, 1, &nodes, NVML_AFFINITY_SCOPE_NODE);
    // A card near to several is near to none in particular.
    const bool is_one = got == NVML_SUCCESS && std::popcount(nodes) == 1;
    const int numa = is_one ? std::countr_zero(nodes) : kNumaUnknown;
    if (is_final(got)) numas_.emplace(device, numa);
    return numa;
}

}  // namespace tessera

#include "adapters/nvml/nvml_links.hpp"

#include <bit>

namespace tessera {

void LinkReader::read(std::span<const nvmlDevice_t> devices, std::span<GpuReading> readings) {
    ++reading_;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (devices[i] == nullptr) continue;
        GpuLinks links{.numa = numa(devices[i])};
        for (std::size_t other = 0; other < devices.size(); ++other) {
            const int index = readings[other].index;
            if (other == i || devices[other] == nullptr || index > kMostLinkedIndex) continue;
            const Pair to = pair(devices[i], devices[other]);
            const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(index);
            if (to.pcie) links.pcie |= bit;
            if (to.nvlink) links.nvlink |= bit;
        }
        readings[i].links = links;
    }
}

LinkReader::Pair LinkReader::pair(nvmlDevice_t a, nvmlDevice_t b) {
    const auto [at, is_new] = pairs_.try_emplace({a, b});
    Pair& known = at->second;
    const bool is_all = known.pcie && known.nvlink;
    if (is_all || (!is_new && reading_ - known.asked < kReadingsBetween)) return known;
    known.asked = reading_;
    known.pcie = known.pcie || are_behind_one_switch(a, b);
    known.nvlink = known.nvlink || are_by_nvlink(a, b);
    return known;
}

bool LinkReader::are_behind_one_switch(nvmlDevice_t a, nvmlDevice_t b) const {
    if (nvml_->nvmlDeviceGetTopologyCommonAncestor == nullptr) return false;
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    return nvml_->nvmlDeviceGetTopologyCommonAncestor(a, b, &level) == NVML_SUCCESS &&
           level <= NVML_TOPOLOGY_MULTIPLE;
}

bool LinkReader::are_by_nvlink(nvmlDevice_t a, nvmlDevice_t b) const {
    if (nvml_->nvmlDeviceGetP2PStatus == nullptr) return false;
    nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
    return nvml_->nvmlDeviceGetP2PStatus(a, b, NVML_P2P_CAPS_INDEX_NVLINK, &status) ==
               NVML_SUCCESS &&
           status == NVML_P2P_STATUS_OK;
}

int LinkReader::numa(nvmlDevice_t device) {
    const auto known = numas_.find(device);
    if (known != numas_.end()) return known->second;
    unsigned long nodes = 0;
    const bool has_told = nvml_->nvmlDeviceGetMemoryAffinity != nullptr &&
                          nvml_->nvmlDeviceGetMemoryAffinity(
                              device, 1, &nodes, NVML_AFFINITY_SCOPE_NODE) == NVML_SUCCESS;
    // A GPU that is near several NUMA nodes has no node of its own.
    if (!has_told || std::popcount(nodes) != 1) return kNumaUnknown;
    return numas_[device] = std::countr_zero(nodes);
}

}  // namespace tessera

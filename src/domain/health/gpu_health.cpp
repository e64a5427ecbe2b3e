#include "domain/health/gpu_health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array kApplicationFaults = {13, 31, 43, 45, 68, 109};

constexpr const char* kLost = "the card does not answer (fallen off the bus?)";
constexpr const char* kNeedsRecovery = "the driver asks for a reset of the card";

}  // namespace

bool is_application_fault(int xid) {
    return std::ranges::find(kApplicationFaults, xid) != kApplicationFaults.end();
}

void GpuHealth::on_fault(const GpuUuid& gpu, int xid) {
    if (is_application_fault(xid)) return;
    reasons_[gpu] = fmt::format("Xid {}", xid);
}

void GpuHealth::on_probe(const GpuUuid& gpu, const GpuProbe& probe) {
    const auto known = reasons_.find(gpu);
    if (probe.lost) {
        reasons_.try_emplace(gpu, kLost);  // a fault that is known outlives the silence
    } else if (probe.recovered || (known != reasons_.end() && known->second == kLost)) {
        if (known != reasons_.end()) reasons_.erase(known);
        if (probe.needs_recovery) reasons_[gpu] = kNeedsRecovery;
    } else if (probe.needs_recovery && known == reasons_.end()) {
        reasons_[gpu] = kNeedsRecovery;
    }
}

std::string GpuHealth::reason(const GpuUuid& gpu) const {
    const auto known = reasons_.find(gpu);
    return known == reasons_.end() ? std::string() : known->second;
}

}  // namespace tessera

#include "domain/health/gpu_health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array kApplicationFaults = {
#define APPLICATION_XID(code, meaning) code,
#include "api/nvidia/application_xids.def"
#undef APPLICATION_XID
};

constexpr int kFallenOffTheBus = 79;

}  // namespace

bool is_application_fault(int xid) {
    return std::ranges::find(kApplicationFaults, xid) != kApplicationFaults.end();
}

void GpuHealth::on_fault(const GpuUuid& gpu, int xid) {
    if (is_application_fault(xid)) return;
    Trouble& trouble = troubles_[gpu];
    // It may come back from the bus by itself (is_over), and must not take an older fault with it.
    if (xid == kFallenOffTheBus && trouble.kind == Kind::fault) return;
    trouble = {.kind = Kind::fault, .xid = xid};
}

void GpuHealth::on_probe(const GpuUuid& gpu, const GpuProbe& probe) {
    const auto known = troubles_.find(gpu);
    if (!probe.lost.empty()) {
        // A fault that is known outlives the silence.
        if (known == troubles_.end() || known->second.kind != Kind::fault) {
            troubles_[gpu] = {.kind = Kind::lost, .detail = probe.lost};
        } else {
            known->second.answers = 0;
        }
        return;
    }
    if (known != troubles_.end() && !is_over(known->second, probe.recovery)) return;
    if (known != troubles_.end()) troubles_.erase(known);
    if (probe.recovery == RecoveryAction::needed) {
        troubles_[gpu] = {.kind = Kind::needs_recovery};
    }
}

// Of a card that answers.
bool GpuHealth::is_over(Trouble& trouble, RecoveryAction recovery) {
    if (recovery == RecoveryAction::none || trouble.kind == Kind::lost) return true;
    if (trouble.kind == Kind::needs_recovery || recovery == RecoveryAction::needed) return false;
    trouble.latched = trouble.xid != kFallenOffTheBus;
    return !trouble.latched && ++trouble.answers >= kProbesToRecover;
}

std::string GpuHealth::reason(const GpuUuid& gpu) const {
    const auto known = troubles_.find(gpu);
    if (known == troubles_.end()) return {};
    const Trouble& trouble = known->second;
    switch (trouble.kind) {
        case Kind::lost:
            return "the card does not answer: " + trouble.detail;
        case Kind::needs_recovery:
            return "the driver asks for a reset of the card";
        case Kind::fault:
            break;
    }
    return fmt::format("Xid {}{}", trouble.xid,
                       trouble.latched ? "; this driver cannot say when the card is good again: "
                                         "reset it, then restart the agent"
                                       : "");
}

}  // namespace tessera

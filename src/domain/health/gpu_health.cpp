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

std::string request_of(RecoveryAction recovery) {
    switch (recovery) {
        case RecoveryAction::reset:
            return "the driver asks for a reset of the card";
        case RecoveryAction::reboot:
            return "the driver asks for a restart of the node";
        case RecoveryAction::drain_peers:
            return "the driver asks to end what uses the card and those linked to it";
        case RecoveryAction::drain_and_reset:
            return "the driver asks to drain the card, and then for a reset of it";
        case RecoveryAction::other:
            return "the driver asks for a recovery of a kind that is newer than this agent";
        case RecoveryAction::none:
        case RecoveryAction::unknown:
            break;
    }
    return {};
}

std::string fault_of(const MemoryFaults& memory, RecoveryAction recovery) {
    if (memory.remap_failed) {
        return "rows of its memory could not be replaced (nvidia-smi -q -d ROW_REMAPPER): replace "
               "it";
    }
    if (recovery != RecoveryAction::unknown) return {};
    if (memory.remap_pending) return "rows of its memory are replaced at the next reset: reset it";
    if (memory.retire_pending) return "pages of its memory are retired at the next reset: reset it";
    if (memory.uncorrected) return "its memory had errors that ECC could not correct: reset it";
    return {};
}

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
    if (std::string request = request_of(probe.recovery); !request.empty()) {
        troubles_[gpu] = {.kind = Kind::needs_recovery, .detail = std::move(request)};
    } else if (std::string fault = fault_of(probe.memory, probe.recovery); !fault.empty()) {
        troubles_[gpu] = {.kind = Kind::memory, .detail = std::move(fault)};
    }
}

// Of a card that answers.
bool GpuHealth::is_over(Trouble& trouble, RecoveryAction recovery) {
    // A driver that said once what the card needs will say so again.
    if (trouble.kind == Kind::needs_recovery) return recovery != RecoveryAction::unknown;
    if (recovery == RecoveryAction::none || trouble.kind != Kind::fault) return true;
    if (recovery != RecoveryAction::unknown) return false;
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
        case Kind::memory:
            return trouble.detail;
        case Kind::fault:
            break;
    }
    return fmt::format("Xid {}{}", trouble.xid,
                       trouble.latched ? "; this driver cannot say when the card is good again: "
                                         "reset it, then restart the agent"
                                       : "");
}

}  // namespace tessera

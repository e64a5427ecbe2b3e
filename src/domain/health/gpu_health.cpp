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
            return "the driver asks for a reset of the GPU";
        case RecoveryAction::reboot:
            return "the driver asks for a restart of the node";
        case RecoveryAction::drain_peers:
            return "the driver asks to stop all programs on the GPU and on those linked to it";
        case RecoveryAction::drain_and_reset:
            return "the driver asks to drain the GPU, and then for a reset of it";
        case RecoveryAction::other:
            return "the driver asks for a kind of recovery that is newer than this agent";
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
    Problem& problem = problems_[gpu];
    // A GPU that fell off the bus may come back by itself (is_over). That must not clear an older
    // fault.
    if (xid == kFallenOffTheBus && problem.kind == Kind::fault) return;
    problem = {.kind = Kind::fault, .xid = xid};
}

void GpuHealth::on_probe(const GpuUuid& gpu, const GpuProbe& probe) {
    const auto known = problems_.find(gpu);
    if (!probe.lost.empty()) {
        // A known fault is kept while the GPU does not answer.
        if (known == problems_.end() || known->second.kind != Kind::fault) {
            problems_[gpu] = {.kind = Kind::lost, .detail = probe.lost};
        } else {
            known->second.answers = 0;
        }
        return;
    }
    if (known != problems_.end() && !is_over(known->second, probe.recovery)) return;
    if (known != problems_.end()) problems_.erase(known);
    if (std::string request = request_of(probe.recovery); !request.empty()) {
        problems_[gpu] = {.kind = Kind::needs_recovery, .detail = std::move(request)};
    } else if (std::string fault = fault_of(probe.memory, probe.recovery); !fault.empty()) {
        problems_[gpu] = {.kind = Kind::memory, .detail = std::move(fault)};
    }
}

// For a GPU that answers.
bool GpuHealth::is_over(Problem& problem, RecoveryAction recovery) {
    // A driver that reported a recovery action before will report it again.
    if (problem.kind == Kind::needs_recovery) return recovery != RecoveryAction::unknown;
    if (recovery == RecoveryAction::none || problem.kind != Kind::fault) return true;
    if (recovery != RecoveryAction::unknown) return false;
    problem.latched = problem.xid != kFallenOffTheBus;
    return !problem.latched && ++problem.answers >= kProbesToRecover;
}

std::string GpuHealth::reason(const GpuUuid& gpu) const {
    const auto known = problems_.find(gpu);
    if (known == problems_.end()) return {};
    const Problem& problem = known->second;
    switch (problem.kind) {
        case Kind::lost:
            return "the GPU does not answer: " + problem.detail;
        case Kind::needs_recovery:
        case Kind::memory:
            return problem.detail;
        case Kind::fault:
            break;
    }
    return fmt::format("Xid {}{}", problem.xid,
                       problem.latched
                           ? "; this driver does not report when the GPU is healthy again: "
                             "reset it, then restart the agent"
                           : "");
}

}  // namespace tessera

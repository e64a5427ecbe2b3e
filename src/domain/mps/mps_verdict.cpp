#include "domain/mps/mps_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr std::int64_t kFilled = 95;  // percent of the share

MpsFinding multiprocessors_of(const MpsGrant& grant, int all, const MpsProbe& probe) {
    MpsFinding out{.check = "multiprocessors",
                   .granted = fmt::format("{} %", grant.threads.value),
                   .found = fmt::format("{}", probe.used_multiprocessors)};
    if (all == 0) {
        out.found += "; the GPU's number is not known";
        return out;
    }
    out.granted += fmt::format(" of {}", all);
    const int expected = all * grant.threads.value / 100;
    const int tolerance = std::max(kMultiprocessorStep, all * kToleratedPercent / 100);
    out.is_ok = std::abs(probe.used_multiprocessors - expected) <= tolerance;
    return out;
}

// The guard counts in units of 2 MiB.
MpsFinding shown_of(const MpsGrant& grant, const MpsProbe& probe) {
    constexpr Bytes kUnit{std::int64_t{2} << 20};
    return {.check = "memory shown",
            .granted = rounded_down(grant.memory),
            .found = rounded_down(probe.total),
            .is_ok = probe.total <= grant.memory && grant.memory - probe.total < kUnit};
}

MpsFinding limit_of(const MpsGrant& grant, const MpsProbe& probe) {
    return {.check = "memory limit",
            .granted = rounded_down(grant.memory),
            .found = probe.is_limited ? "more is refused" : "more was given",
            .is_ok = probe.is_limited};
}

MpsFinding filled_of(const MpsGrant& grant, const MpsProbe& probe) {
    const Bytes others = probe.total - probe.free;
    const Bytes all = *probe.filled + others;
    return {.check = "memory filled",
            .granted = rounded_down(grant.memory),
            .found = fmt::format("{} and {} of other programs and contexts",
                                 rounded_down(*probe.filled), rounded_down(others)),
            .is_ok = all <= grant.memory && all.count >= grant.memory.count / 100 * kFilled};
}

}  // namespace

std::vector<MpsFinding> verify_mps(const MpsGrant& grant, int multiprocessors,
                                   const MpsProbe& probe) {
    std::vector<MpsFinding> out{multiprocessors_of(grant, multiprocessors, probe),
                                shown_of(grant, probe), limit_of(grant, probe)};
    if (probe.filled) out.push_back(filled_of(grant, probe));
    return out;
}

bool is_well(const std::vector<MpsFinding>& findings) {
    return std::ranges::all_of(findings, &MpsFinding::is_ok);
}

std::vector<Percent> sweep_of(const MpsGrant& grant) {
    constexpr int kSteps = 10;
    std::vector<Percent> out;
    for (int step = 1; step <= kSteps; ++step) {
        const Percent percent{std::max(1, grant.threads.value * step / kSteps)};
        if (out.empty() || out.back() != percent) out.push_back(percent);
    }
    return out;
}

}  // namespace tessera

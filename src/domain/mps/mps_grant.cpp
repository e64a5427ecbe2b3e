#include "domain/mps/mps_grant.hpp"

#include <algorithm>

namespace tessera {

MpsSettings mps_settings_of(const MpsGrant& grant) {
    const Bytes memory = grant.memory + kMpsContextAllowance;
    return {.threads = grant.threads, .memory = mebibytes(memory.count / kMiB)};
}

std::optional<MpsSettings> mps_settings_for(const GpuUuid& gpu, std::span<const MpsGrant> grants) {
    std::optional<MpsSettings> most;
    for (const MpsGrant& grant : grants) {
        if (grant.gpu != gpu) continue;
        const MpsSettings one = mps_settings_of(grant);
        if (!most) most = one;
        most->threads = std::max(most->threads, one.threads);
        most->memory = std::max(most->memory, one.memory);
    }
    return most;
}

bool has_room_for(const MpsSettings& settings, const MpsGrant& grant) {
    const MpsSettings needed = mps_settings_of(grant);
    return settings.threads >= needed.threads && settings.memory >= needed.memory;
}

int most_multiprocessors(int all, Percent threads) {
    const int percent = threads.value + kToleratedPercent;
    if (percent >= 100) return 0;
    return all == 0 ? 0 : std::max(kMultiprocessorStep, (all * percent + 99) / 100);
}

const MpsGrant* of_another_user(const MpsGrant& grant, std::span<const MpsGrant> others) {
    if (!grant.user_id) return nullptr;
    const auto at = std::ranges::find_if(others, [&](const MpsGrant& other) {
        const bool is_same = other.pod == grant.pod && other.container == grant.container;
        return !is_same && other.gpu == grant.gpu && other.user_id &&
               other.user_id != grant.user_id;
    });
    return at == others.end() ? nullptr : &*at;
}

}  // namespace tessera

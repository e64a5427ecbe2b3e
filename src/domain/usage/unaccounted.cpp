#include "domain/usage/unaccounted.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

bool is_lived_on_by_another(std::span<const ShareUse> uses, const PodUid& pod,
                            const GpuUuid& card) {
    return std::ranges::any_of(uses, [&](const ShareUse& use) {
        return use.card == card && use.pod != pod &&
               std::ranges::any_of(
                   use.processes, [](const ProcessUse& process) { return process.held > Bytes{}; });
    });
}

}  // namespace

std::vector<Unaccounted> find_unaccounted(std::span<const CardProcess> processes,
                                          std::span<const ShareUse> uses, Bytes allowance) {
    std::map<std::pair<PodUid, GpuUuid>, Unaccounted> by_pod;
    for (const CardProcess& process : processes) {
        if (process.pod.empty()) continue;
        Unaccounted& of = by_pod[{process.pod, process.card}];
        of.pod = process.pod;
        of.card = process.card;
        of.used += process.used;
        of.pids.push_back(process.pid);
    }
    std::vector<Unaccounted> found;
    for (auto& [key, of] : by_pod) {
        bool has_share = false;
        std::size_t counted = 0;
        for (const ShareUse& use : uses) {
            if (use.pod != of.pod || use.card != of.card) continue;
            has_share = true;
            of.held += use.held;
            of.name = use.name;
            counted += use.processes.size();
        }
        // A process of which the driver tells nothing has no context, and needs no allowance.
        const auto allowances =
            static_cast<std::int64_t>(std::max<std::size_t>(std::min(counted, of.pids.size()), 1));
        const bool is_beyond = has_share ? of.used > of.held + Bytes{allowances * allowance.count}
                                         : is_lived_on_by_another(uses, of.pod, of.card);
        if (is_beyond) found.push_back(std::move(of));
    }
    return found;
}

std::vector<Unclaimed> find_unclaimed(std::span<const CardInUse> cards,
                                      std::span<const CardProcess> processes,
                                      std::span<const ShareUse> uses, Bytes allowance) {
    std::vector<Unclaimed> found;
    for (const CardInUse& card : cards) {
        std::map<PodUid, Bytes> used;
        std::map<PodUid, Bytes> held;
        for (const CardProcess& process : processes)
            if (process.card == card.card) used[process.pod] += process.used;
        for (const ShareUse& use : uses)
            if (use.card == card.card) held[use.pod] += use.held;
        if (held.empty()) continue;
        Bytes claimed;
        for (const auto& [pod, bytes] : used)
            claimed += std::max(bytes, held[pod]);
        for (const auto& [pod, bytes] : held)
            if (!used.contains(pod)) claimed += bytes;
        if (card.used > claimed + allowance) found.push_back({card.card, card.used, claimed});
    }
    return found;
}

}  // namespace tessera

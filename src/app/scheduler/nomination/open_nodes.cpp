#include "app/scheduler/nomination/open_nodes.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tessera {
namespace {

std::int64_t mebibytes_up(Bytes bytes) {
    return (bytes.count + kMiB - 1) / kMiB;
}

}  // namespace

OpenNodes::OpenNodes(const Snapshot& snapshot) {
    left_.resize(snapshot.places());
    for (std::uint32_t position = 0; position < snapshot.places(); ++position) {
        const PlacementRow& row = snapshot.row(position);
        if (row.node == nullptr || !row.open || row.node->inventory.traits->closed) continue;
        open_.push_back(position);
        Left& left = left_[position];
        // A node that has not reported its host resources has enough.
        constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 2;
        const bool is_known = row.node->inventory.host != HostRequest{};
        left.cpu_milli = is_known ? row.node->load.cpu_milli : kEnough;
        left.memory_mib = is_known ? row.node->load.memory_mib : kEnough;
        left.pods = std::min(row.node->free_pods, kEnough);
        for (const Nominee& nominee : row.node->nominees)
            take(position, *nominee.pod);
    }
}

bool OpenNodes::has_room(std::uint32_t position, const PodRequest& pod) const {
    const Left& left = left_[position];
    return left.pods > 0 && left.cpu_milli >= pod.host.cpu_milli &&
           left.memory_mib >= mebibytes_up(pod.host.memory);
}

void OpenNodes::take(std::uint32_t position, const PodRequest& pod) {
    Left& left = left_[position];
    left.cpu_milli -= pod.host.cpu_milli;
    left.memory_mib -= mebibytes_up(pod.host.memory);
    --left.pods;
}

std::vector<std::uint32_t> OpenNodes::of(const Snapshot& snapshot, const PodRequest& pod,
                                         const NodeRules& rules, const std::set<NodeName>& but) {
    const auto [allowed, is_new] = by_rules_.try_emplace(rules);
    if (is_new) {
        std::ranges::copy_if(
            open_, std::back_inserter(allowed->second), [&](std::uint32_t position) {
                return may_run(rules, *snapshot.row(position).node->inventory.traits);
            });
    }
    std::vector<std::uint32_t> out;
    out.reserve(allowed->second.size());
    for (const std::uint32_t position : allowed->second) {
        if (!has_room(position, pod)) continue;
        if (!but.empty() && but.contains(snapshot.row(position).node->inventory.name)) continue;
        out.push_back(position);
    }
    return out;
}

}  // namespace tessera

#include "app/scheduler/gang/gang_reservations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "app/scheduler/filter/node_choice.hpp"

namespace tessera {
namespace {

// Whether the node has the CPU and memory for this pod beside the pods with reservations there.
// kube-scheduler checked only the pod that it asks about, and does not know of the other pods.
bool has_host_room(const NodeInfo& node, const HostRequest& request) {
    if (node.inventory.host == HostRequest{})
        return true;  // the node has not reported its host resources
    std::int64_t cpu_milli = node.load.cpu_milli;
    std::int64_t memory_mib = node.load.memory_mib;
    for (const Nominee& nominee : node.nominees) {
        cpu_milli -= nominee.pod->host.cpu_milli;
        memory_mib -= nominee.pod->host.memory.count / kMiB;
    }
    return request.cpu_milli <= cpu_milli && request.memory.count / kMiB <= memory_mib;
}

// The harder to place, the larger: first pods that require certain GPUs, then by how much they
// request.
auto hardness_of(const PodRequestPtr& pod) {
    const GpuRules& rules = rules_of(pod->containers);
    int gpus = 0;
    Bytes memory;
    for (const ContainerRequest& container : pod->containers) {
        gpus += container.gpu.gpus;
        memory = std::max(memory, bytes_of(container.gpu.memory, MemoryUnit::gib, kMoreThanAnyGpu));
    }
    return std::tuple(rules.link.has_value() || !rules.admits_any(), gpus, memory);
}

}  // namespace

std::vector<PodRequestPtr> those_to_place(const GangNow& now, const PodRequest& pod,
                                          std::size_t size) {
    std::vector<PodRequestPtr> out = now.waiting;
    std::stable_partition(out.begin(), out.end(),
                          [&](const PodRequestPtr& member) { return member->uid == pod.uid; });
    out.resize(std::min(out.size(), size - std::min(size, now.placed)));
    std::ranges::stable_sort(out, std::ranges::greater(), hardness_of);
    return out;
}

GangReservations reserve_for_gang(ClusterState& state, std::span<const std::string_view> nodes,
                                  std::span<const PodRequestPtr> members,
                                  const PolicySet* policies) {
    GangReservations reservations;
    for (const PodRequestPtr& asked : members) {
        const PodRequest& member = *asked;
        const auto snapshot = state.snapshot();
        auto positions = snapshot->positions(nodes);
        std::erase_if(positions, [&](std::uint32_t position) {
            return position == NameIndex::kNone ||
                   !has_host_room(*snapshot->row(position).node, member.host);
        });
        const auto scorer = policies == nullptr ? nullptr : policies->scorer_of(member);
        const auto best = best_node(*snapshot, positions, member, scorer.get());
        if (best) {
            state.reserve_node(member.uid, snapshot->row(*best).node->inventory.name,
                               ReservedBy::gang);
            ++reservations.found;
        } else if (reservations.without.empty()) {
            reservations.without = member.name.name;
        }
    }
    return reservations;
}

std::string about_the_others(const GangNow& now) {
    constexpr std::size_t kNamed = 3;
    constexpr std::size_t kLongest = 160;
    std::string out;
    for (std::size_t i = 0; i < std::min(now.not_counted.size(), kNamed); ++i) {
        const auto& [name, why] = now.not_counted[i];
        out += fmt::format("; {} does not count: {}", name, why.substr(0, kLongest));
    }
    if (now.not_counted.size() > kNamed)
        out += fmt::format("; {} more do not count", now.not_counted.size() - kNamed);
    return out + about_sizes(now);
}

std::string about_sizes(const GangNow& now) {
    if (now.sizes.size() < 2) return {};
    return fmt::format("; its pods do not agree on its size: {}", fmt::join(now.sizes, ", "));
}

}  // namespace tessera

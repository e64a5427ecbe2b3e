#include "app/scheduler/gang_rooms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "app/scheduler/node_choice.hpp"

namespace tessera {
namespace {

// Whether the node has the CPU and memory for one more of those that room is kept for:
// kube-scheduler has looked at the pod that it asks for, and does not know of the others.
bool has_host_room(const NodeView& node, const HostAsk& ask) {
    if (node.inventory.host == HostAsk{}) return true;  // it has not said
    std::int64_t cpu_milli = node.load.cpu_milli;
    std::int64_t memory_mib = node.load.memory_mib;
    for (const PodAskPtr& nominee : node.nominees) {
        cpu_milli -= nominee->host.cpu_milli;
        memory_mib -= nominee->host.memory.count / kMiB;
    }
    return ask.cpu_milli <= cpu_milli && ask.memory.count / kMiB <= memory_mib;
}

// The harder to place, the larger: who insists on cards, then by how much.
auto hardness_of(const PodAskPtr& pod) {
    const CardRules& rules = rules_of(pod->request);
    int cards = 0;
    Bytes memory;
    for (const ContainerRequest& container : pod->request) {
        cards += container.gpu.gpus;
        memory =
            std::max(memory, bytes_of(container.gpu.memory, MemoryUnit::gib, kMoreThanAnyCard));
    }
    return std::tuple(rules.link.has_value() || !rules.admits_any(), cards, memory);
}

}  // namespace

std::vector<PodAskPtr> those_to_place(const GangNow& now, const PodAsk& pod, std::size_t size) {
    std::vector<PodAskPtr> out = now.waiting;
    std::stable_partition(out.begin(), out.end(),
                          [&](const PodAskPtr& member) { return member->uid == pod.uid; });
    out.resize(std::min(out.size(), size - std::min(size, now.placed)));
    std::ranges::stable_sort(out, std::ranges::greater(), hardness_of);
    return out;
}

GangRooms promise_rooms(ClusterState& state, std::span<const std::string_view> nodes,
                        std::span<const PodAskPtr> members, const Placements* placements) {
    GangRooms rooms;
    for (const PodAskPtr& asked : members) {
        const PodAsk& member = *asked;
        const auto view = state.view();
        auto positions = view->positions(nodes);
        std::erase_if(positions, [&](std::uint32_t position) {
            return position == NameIndex::kNone ||
                   !has_host_room(*view->row(position).node, member.host);
        });
        const auto rater = placements == nullptr ? nullptr : placements->rater_of(member);
        const auto best = best_node(*view, positions, member, rater.get());
        if (best) {
            state.promise(member.uid, view->row(*best).node->inventory.name, {});
            ++rooms.found;
        } else if (rooms.without.empty()) {
            rooms.without = member.name.name;
        }
    }
    return rooms;
}

std::string about_the_others(const GangNow& now) {
    constexpr std::size_t kNamed = 3;
    constexpr std::size_t kLongest = 160;
    std::string out;
    for (std::size_t i = 0; i < std::min(now.aside.size(), kNamed); ++i) {
        const auto& [name, why] = now.aside[i];
        out += fmt::format("; {} does not count: {}", name, why.substr(0, kLongest));
    }
    if (now.aside.size() > kNamed)
        out += fmt::format("; {} more do not count", now.aside.size() - kNamed);
    return out + about_sizes(now);
}

std::string about_sizes(const GangNow& now) {
    if (now.sizes.size() < 2) return {};
    return fmt::format("; its pods do not agree on its size: {}", fmt::join(now.sizes, ", "));
}

}  // namespace tessera

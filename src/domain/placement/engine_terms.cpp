#include "domain/placement/engine_terms.hpp"

#include <algorithm>
#include <limits>

#include "domain/cluster/view.hpp"

namespace tessera {
namespace {

constexpr int kMilliPerPercent = kMilliPerCard / 100;

std::int32_t saturated(std::int64_t value) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(value, -kMost, kMost));
}

std::int32_t mebibytes_up(Bytes bytes) {
    return saturated((bytes.count + kMiB - 1) / kMiB);
}

std::int16_t capped(std::int64_t milli) {
    return static_cast<std::int16_t>(std::clamp<std::int64_t>(milli, 0, kMilliPerCard));
}

// Of a card of no memory nothing is ever free.
std::int64_t memory_milli(Bytes part, Bytes card, bool up) {
    if (card.count <= 0) return up ? kMilliPerCard : 0;
    const double exact =
        static_cast<double>(part.count) * kMilliPerCard / static_cast<double>(card.count);
    const auto down = static_cast<std::int64_t>(exact);
    return up && static_cast<double>(down) < exact ? down + 1 : down;
}

TaskKinds kinds_of(const NodeView& node) {
    TaskKinds kinds = 0;
    for (const TenantPtr& tenant : node.tenants) {
        for (const ContainerAllocation& container : tenant->allocation.containers) {
            const auto count =
                static_cast<std::int16_t>(std::min<std::size_t>(container.gpus.size(), kMaxCards));
            if (count == 0) continue;
            const bool is_whole = container.gpus.front().whole;
            kinds |= kind_of(
                {.milli = static_cast<std::int16_t>(is_whole ? kMilliPerCard : 1), .count = count});
        }
    }
    return kinds;
}

}  // namespace

std::int16_t milli_of(Bytes memory, Percent cores, Bytes card) {
    return capped(std::max<std::int64_t>(memory_milli(memory, card, true),
                                         std::int64_t{cores.value} * kMilliPerPercent));
}

std::int16_t free_milli(const Card& card) {
    if (!card.usable) return 0;
    const std::int64_t cores = std::int64_t{100 - card.cores_held.value} * kMilliPerPercent;
    const std::int64_t most = card.holders > 0 ? kMilliPerCard - 1 : kMilliPerCard;
    return capped(std::min({memory_milli(card.free(), card.capacity, false), cores, most}));
}

NodeLoad load_of(const NodeView& node, int model, const HostAsk& used) {
    const HostAsk& has = node.inventory.host;
    NodeLoad load;
    load.cpu_milli = saturated(has.cpu_milli - used.cpu_milli);
    load.memory_mib = saturated((has.memory - used.memory).count / kMiB);
    load.model = static_cast<std::int16_t>(model);
    load.kinds = kinds_of(node);
    return with_cards(load, node.cards);
}

NodeLoad with_cards(NodeLoad load, std::span<const Card> cards) {
    const auto known = std::min<std::size_t>(cards.size(), kMaxCards);
    load.cards = static_cast<std::int16_t>(known);
    load.milli = {};
    for (std::size_t i = 0; i < known; ++i)
        load.milli.at(i) = free_milli(cards[i]);
    return load;
}

std::optional<std::vector<Task>> tasks_of(const PodAsk& pod, MemoryUnit unit, Bytes card) {
    std::vector<Task> tasks;
    for (const ContainerRequest& container : pod.request) {
        const GpuRequest& gpu = container.gpu;
        const Bytes memory = bytes_of(gpu.memory, unit, card);
        if (container.kind == ContainerKind::init || memory > card || gpu.gpus > kMaxCards)
            return std::nullopt;
        tasks.push_back({.milli = milli_of(memory, gpu.cores, card),
                         .count = static_cast<std::int16_t>(gpu.gpus)});
    }
    if (tasks.empty()) return std::nullopt;
    tasks.front().cpu_milli = saturated(pod.host.cpu_milli);
    tasks.front().memory_mib = mebibytes_up(pod.host.memory);
    return tasks;
}

}  // namespace tessera

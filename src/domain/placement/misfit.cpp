#include "domain/placement/misfit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/placement/place.hpp"

namespace tessera {
namespace {

// gpushare's sentence first: its users' tools look for it (docs/compat/gpushare.md). No sentence
// has a percent sign: kube-scheduler makes its event with the reasons as a format.
constexpr std::string_view kNoMemory = "Insufficient GPU Memory in one device";
constexpr std::string_view kNoCompute = "Insufficient GPU compute in one device";
constexpr const char* kSingleShare =
    "Insufficient GPU Memory in one device: the node's plugin (gpushare's) gives one card to one "
    "container, and the pod asks for more than that";

std::string asked(const GpuRequest& gpu, MemoryUnit unit) {
    std::string text = gpu.memory.kind == MemoryAsk::Kind::whole_card
                           ? "a whole card"
                           : to_string(bytes_of(gpu.memory, unit, {}));
    if (gpu.cores.value > 0) text += fmt::format(" and {} percent of its compute", gpu.cores.value);
    return gpu.gpus == 1 ? text : fmt::format("{} on each of {} cards", text, gpu.gpus);
}

// The container that asks most of a card: the one whose need the message quotes.
const GpuRequest& hardest(const PodRequest& request, MemoryUnit unit) {
    const auto need = [unit](const ContainerRequest& c) {
        const Bytes most{std::int64_t{1} << 60};
        return std::pair(bytes_of(c.gpu.memory, unit, most), c.gpu.gpus);
    };
    return std::ranges::max_element(request, {}, need)->gpu;
}

// What one card of a node has at most.
struct Most {
    Bytes capacity;
    Bytes free;
    int unhealthy = 0;  // all cards
};

Most most_of(std::span<const Card> cards) {
    Most out;
    for (const Card& card : cards) {
        out.capacity = std::max(out.capacity, card.capacity);
        out.free = std::max(out.free, card.free());
        out.unhealthy += card.healthy ? 0 : 1;
    }
    return out;
}

}  // namespace

Explainer::Explainer(const PodRequest& request)
    : request_(request),
      one_share_(asks_one_share(request)),
      only_memory_(asks_only_memory(request)) {}

const Misfit& Explainer::explain(const PlacementRow& row) {
    if (!only_memory_) {
        Misfit misfit = explain(row.node->offer());
        const auto at = worded_.find(misfit.reason);
        if (at != worded_.end()) return at->second;
        std::string words = misfit.reason;
        return worded_.emplace(std::move(words), std::move(misfit)).first->second;
    }
    const Alike alike{row.cards, row.unit, row.largest.count, row.largest_free.count,
                      row.unhealthy};
    const auto [at, is_new] = explained_.try_emplace(alike);
    if (is_new) at->second = explain(row.node->offer());
    return at->second;
}

Misfit Explainer::explain(const Offer& offer) const {
    const auto& [cards, free, unit, single] = offer;
    if (cards.empty()) return {true, "no GPU on this node", Obstacle::no_gpu, {}};
    if (single && !one_share_) return {true, kSingleShare, Obstacle::single_share, {}};
    const GpuRequest& gpu = hardest(request_, unit);
    const Most most = most_of(cards);
    int large_enough = 0;
    int free_enough = 0;
    for (const Card& card : cards) {
        const Bytes ask = bytes_of(gpu.memory, unit, card.capacity);
        large_enough += ask <= card.capacity ? 1 : 0;
        free_enough += card.healthy && ask <= card.free() ? 1 : 0;
    }
    const std::string sick =
        most.unhealthy == 0 ? "" : fmt::format(", {} unhealthy", most.unhealthy);
    const std::string of_cards = fmt::format("({} cards{})", cards.size(), sick);
    if (large_enough < gpu.gpus) {
        const std::string room =
            gpu.gpus == 1 ? fmt::format("the largest of {} cards has {}, {} are large enough",
                                        cards.size(), to_string(most.capacity), large_enough)
                          : fmt::format("{} of this node's {} cards are large enough", large_enough,
                                        cards.size());
        return {true, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                Obstacle::too_large, most.capacity, unit};
    }
    const bool all_sick = most.unhealthy == static_cast<int>(cards.size());
    if (free_enough < gpu.gpus) {
        const std::string room = gpu.gpus == 1
                                     ? fmt::format("largest free share on a card is {} {}",
                                                   to_string(most.free), of_cards)
                                     : fmt::format("{} of this node's {} cards have that free{}",
                                                   free_enough, cards.size(), sick);
        return {false, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                all_sick ? Obstacle::unhealthy : Obstacle::memory, most.free, unit};
    }
    if (gpu.cores.value > 0) {
        return {false, fmt::format("{}: asked {} {}", kNoCompute, asked(gpu, unit), of_cards),
                Obstacle::compute, most.free, unit};
    }
    return {
        false,
        fmt::format("{} for the pod's {} containers together: the largest asks {}, largest "
                    "free share on a card is {} {}",
                    kNoMemory, request_.size(), asked(gpu, unit), to_string(most.free), of_cards),
        Obstacle::together, most.free, unit};
}

std::string Explainer::explain_many(const Misfit& most) const {
    const GpuRequest& gpu = hardest(request_, most.unit);
    const std::string ask = asked(gpu, most.unit);
    switch (most.obstacle) {
        case Obstacle::too_large:
            return fmt::format("{}: asked {}, the largest card of all these nodes has {}",
                               kNoMemory, ask, to_string(most.most));
        case Obstacle::memory:
            if (gpu.gpus > 1) {
                return fmt::format("{}: asked {}, and no node has that many with so much free",
                                   kNoMemory, ask);
            }
            return fmt::format(
                "{}: asked {}, largest free share on a card of all these nodes is "
                "{}",
                kNoMemory, ask, to_string(most.most));
        case Obstacle::unhealthy:
            return fmt::format("{}: asked {}, and every card is unhealthy", kNoMemory, ask);
        case Obstacle::compute:
            return fmt::format("{}: asked {}", kNoCompute, ask);
        case Obstacle::together:
            return fmt::format(
                "{} for the pod's {} containers together: the largest asks {}, "
                "largest free share on a card of all these nodes is {}",
                kNoMemory, request_.size(), ask, to_string(most.most));
        default:
            return most.reason;
    }
}

}  // namespace tessera

#include "domain/placement/place.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

Placer::Placer(const PodRequest& request, const Policy& policy)
    : request_(request),
      policy_(policy),
      single_share_(request.size() == 1 && request.front().gpu.gpus == 1),
      only_memory_(single_share_ && request.front().gpu.cores.value == 0 &&
                   request.front().gpu.memory.kind != MemoryAsk::Kind::whole_card) {}

std::optional<std::int64_t> Placer::price(const PlacementRow& row, std::span<const Bytes> free) {
    if (!row.open) return std::nullopt;
    if (!only_memory_) {
        const Fit* fit = try_node(row.node->offer());
        return fit == nullptr ? std::nullopt : std::optional(fit->price);
    }
    const Bytes ask = bytes_of(request_.front().gpu.memory, row.unit, {});
    const PricedCard best = policy_.cheapest(free, ask);
    return best.card < 0 ? std::nullopt : std::optional(best.price);
}

const Fit* Placer::try_node(const Offer& offer) {
    fit_.cards.clear();
    fit_.price = 0;
    if (offer.single_share && !single_share_) return nullptr;
    if (only_memory_) {
        const PricedCard best =
            policy_.cheapest(offer.free, bytes_of(request_.front().gpu.memory, offer.unit, {}));
        if (best.card < 0) return nullptr;
        fit_.cards.push_back(best.card);
        fit_.price = best.price;
        return &fit_;
    }
    own_.assign(offer.cards.size(), Own{});
    for (const ContainerRequest& container : request_) {
        const std::size_t first = fit_.cards.size();
        for (int i = 0; i < container.gpu.gpus; ++i) {
            if (!place_share(container, first, offer)) return nullptr;
        }
    }
    return &fit_;
}

Placer::Own Placer::with_share(const Own& own, const ContainerRequest& container, Bytes ask) {
    Own after = own;
    after.peak = std::max(own.peak, own.running + ask);
    after.cores_peak = std::max(own.cores_peak, own.cores_running + container.gpu.cores);
    if (container.kind != ContainerKind::init) {
        after.running += ask;
        after.cores_running = after.cores_running + container.gpu.cores;
    }
    return after;
}

// One more card for `container`, whose cards so far stand in fit_.cards from `first` on.
bool Placer::place_share(const ContainerRequest& container, std::size_t first, const Offer& offer) {
    const bool whole = container.gpu.memory.kind == MemoryAsk::Kind::whole_card;
    const auto taken = fit_.cards.begin() + static_cast<std::ptrdiff_t>(first);
    int best = -1;
    std::int64_t best_price = 0;
    Own best_own;
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        const Card& card = offer.cards[i];
        const Bytes ask = bytes_of(container.gpu.memory, offer.unit, card.capacity);
        const Own after = with_share(own_[i], container, ask);
        if (!card.healthy || after.peak > card.free()) continue;
        if ((card.cores_held + after.cores_peak).value > 100) continue;
        if (whole && card.holders > 0) continue;
        if (std::find(taken, fit_.cards.end(), static_cast<int>(i)) != fit_.cards.end()) continue;
        const std::int64_t price = policy_.price({card, own_[i].peak, after.peak});
        if (best >= 0 && price >= best_price) continue;
        best = static_cast<int>(i);
        best_price = price;
        best_own = after;
    }
    if (best < 0) return false;
    fit_.cards.push_back(best);
    fit_.price += best_price;
    own_[static_cast<std::size_t>(best)] = best_own;
    return true;
}

namespace {

// gpushare's sentence first: its users' tools look for it (docs/compat/gpushare.md).
constexpr std::string_view kNoMemory = "Insufficient GPU Memory in one device";
constexpr std::string_view kNoCompute = "Insufficient GPU compute in one device";
constexpr const char* kSingleShare =
    "Insufficient GPU Memory in one device: the node's plugin (gpushare's) gives one card to one "
    "container, and the pod asks for more than that";

std::string asked(const GpuRequest& gpu, MemoryUnit unit) {
    std::string text = gpu.memory.kind == MemoryAsk::Kind::whole_card
                           ? "a whole card"
                           : to_string(bytes_of(gpu.memory, unit, {}));
    if (gpu.cores.value > 0) text += fmt::format(" and {} % of its compute", gpu.cores.value);
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

const Misfit& Placer::explain(const PlacementRow& row) {
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

Misfit Placer::explain(const Offer& offer) const {
    const auto& [cards, free, unit, single] = offer;
    if (cards.empty()) return {true, "no GPU on this node", Obstacle::no_gpu, {}};
    if (single && !single_share_) return {true, kSingleShare, Obstacle::single_share, {}};
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
        return {true,
                fmt::format("{}: asked {}, the largest of {} cards has {}, {} are large enough",
                            kNoMemory, asked(gpu, unit), cards.size(), to_string(most.capacity),
                            large_enough),
                Obstacle::too_large, most.capacity, unit};
    }
    const bool all_sick = most.unhealthy == static_cast<int>(cards.size());
    if (free_enough < gpu.gpus) {
        return {false,
                fmt::format("{}: asked {}, largest free share on a card is {} {}", kNoMemory,
                            asked(gpu, unit), to_string(most.free), of_cards),
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

std::string Placer::explain_many(const Misfit& most) const {
    const std::string ask = asked(hardest(request_, most.unit), most.unit);
    switch (most.obstacle) {
        case Obstacle::too_large:
            return fmt::format("{}: asked {}, the largest card of all these nodes has {}",
                               kNoMemory, ask, to_string(most.most));
        case Obstacle::memory:
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

std::vector<ContainerAllocation> containers_of(const PodRequest& request, const Fit& fit,
                                               std::span<const Gpu> gpus, MemoryUnit unit) {
    std::vector<ContainerAllocation> containers;
    std::size_t next = 0;
    for (const ContainerRequest& container : request) {
        ContainerAllocation given{container.container, container.kind, {}};
        for (int i = 0; i < container.gpu.gpus; ++i) {
            const Gpu& gpu = gpus[static_cast<std::size_t>(fit.cards[next++])];
            given.gpus.push_back({
                .uuid = gpu.uuid,
                .index = gpu.index,
                .memory = bytes_of(container.gpu.memory, unit, gpu.capacity()),
                .cores = container.gpu.cores,
                .whole = container.gpu.memory.kind == MemoryAsk::Kind::whole_card,
            });
        }
        containers.push_back(std::move(given));
    }
    return containers;
}

}  // namespace tessera

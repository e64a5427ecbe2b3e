#include "domain/placement/place.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "domain/placement/card_room.hpp"

namespace tessera {
namespace {

// Positions in the request: init containers and sidecars stay where they are, as what they hold
// together depends on their order; app containers follow, by what they ask of a card.
std::vector<std::size_t> largest_first(const PodRequest& request) {
    std::vector<std::size_t> order(request.size());
    std::iota(order.begin(), order.end(), 0);
    const auto apps = std::ranges::stable_partition(
        order, [&](std::size_t i) { return request[i].kind != ContainerKind::app; });
    std::ranges::stable_sort(apps, std::ranges::greater(), [&](std::size_t i) {
        const GpuRequest& gpu = request[i].gpu;
        return std::tuple(bytes_of(gpu.memory, MemoryUnit::gib, kMoreThanAnyCard), gpu.cores,
                          gpu.gpus);
    });
    return order;
}

// The card with the least free that is enough; no card, and no price, when `card` is -1.
struct Tightest {
    int card = -1;
    std::int64_t price = 0;
};

// For a pod that asks for one share of memory and nothing else, which is the usual pod and is asked
// of every node: without a branch, which would be guessed wrong at every other card. What is left
// on a card that is too small is negative, and as an unsigned number larger than any other.
Tightest tightest(std::span<const Bytes> free, Bytes ask) {
    constexpr auto kNone = std::numeric_limits<std::uint64_t>::max() / 2;
    std::uint64_t least = kNone;
    int card = -1;
    for (std::size_t i = 0; i < free.size(); ++i) {
        const auto left = static_cast<std::uint64_t>((free[i] - ask).count);
        const bool better = left < least;
        least = better ? left : least;
        card = better ? static_cast<int>(i) : card;
    }
    return {card, static_cast<std::int64_t>(least)};
}

}  // namespace

const CardRules& rules_of(const PodRequest& request) {
    static const CardRules none;
    return request.empty() ? none : request.front().gpu.rules;
}

bool asks_one_share(const PodRequest& request) {
    return request.size() == 1 && request.front().gpu.gpus == 1;
}

bool asks_only_memory(const PodRequest& request) {
    if (!asks_one_share(request)) return false;
    const GpuRequest& gpu = request.front().gpu;
    return gpu.cores.value == 0 && gpu.memory.kind != MemoryAsk::Kind::whole_card &&
           gpu.rules.admits_any();
}

Placer::Placer(const PodRequest& request)
    : request_(request),
      one_share_(asks_one_share(request)),
      only_memory_(asks_only_memory(request)),
      admission_(rules_of(request)),
      in_order_(request.size()) {
    std::iota(in_order_.begin(), in_order_.end(), 0);
    if (auto other = largest_first(request); other != in_order_) largest_first_ = std::move(other);
}

std::optional<std::int64_t> Placer::price(const PlacementRow& row, std::span<const Bytes> free) {
    if (!row.open) return std::nullopt;
    if (!only_memory_) {
        const Fit* fit = try_node(row.node->offer());
        return fit == nullptr ? std::nullopt : std::optional(fit->price);
    }
    const Bytes ask = bytes_of(request_.front().gpu.memory, row.unit, {});
    const Tightest best = tightest(free, ask);
    return best.card < 0 ? std::nullopt : std::optional(best.price);
}

const Fit* Placer::try_node(const Offer& offer) {
    if (offer.single_share && !one_share_) return nullptr;
    if (only_memory_) {
        const Tightest best =
            tightest(offer.free, bytes_of(request_.front().gpu.memory, offer.unit, {}));
        if (best.card < 0) return nullptr;
        const auto any = [](std::size_t) { return true; };
        const std::size_t card = least_missed(offer, static_cast<std::size_t>(best.card), any);
        fit_.cards.assign(1, static_cast<int>(card));
        fit_.price = best.price;
        return &fit_;
    }
    admission_.look_at(offer);
    if (place_in_some_order(offer, Nearness::preferred)) return &fit_;
    // What one container prefers may be what another needs.
    const bool has_choice =
        request_.size() > 1 && !offer.islands.empty() && !rules_of(request_).link;
    return has_choice && place_in_some_order(offer, Nearness::as_asked) ? &fit_ : nullptr;
}

bool Placer::place_in_some_order(const Offer& offer, Nearness nearness) {
    if (place_all(in_order_, offer, nearness)) return true;
    if (largest_first_.empty() || !place_all(largest_first_, offer, nearness)) return false;
    sort_as_asked(largest_first_);
    return true;
}

// Leaves in fit_.cards the cards of the containers in that order.
bool Placer::place_all(std::span<const std::size_t> order, const Offer& offer, Nearness nearness) {
    fit_.cards.clear();
    fit_.price = 0;
    own_.assign(offer.cards.size(), Own{});
    return std::ranges::all_of(order, [&](std::size_t position) {
        return place_container(request_[position], offer, nearness);
    });
}

bool Placer::place_container(const ContainerRequest& container, const Offer& offer,
                             Nearness nearness) {
    const std::size_t first = fit_.cards.size();
    const std::int64_t price = fit_.price;
    for (const CardMask among : sets_.of(offer, container.gpu, nearness)) {
        if (place_shares(container, offer, among)) return true;
        for (std::size_t i = first; i < fit_.cards.size(); ++i)
            own_[static_cast<std::size_t>(fit_.cards[i])] = before_[i - first];
        fit_.cards.resize(first);
        fit_.price = price;
    }
    return false;
}

// What it has placed is left where it finds no more.
bool Placer::place_shares(const ContainerRequest& container, const Offer& offer, CardMask among) {
    const std::size_t first = fit_.cards.size();
    before_.clear();
    for (int i = 0; i < container.gpu.gpus; ++i) {
        if (!place_share(container, first, offer, among)) return false;
    }
    return true;
}

void Placer::sort_as_asked(std::span<const std::size_t> order) {
    std::vector<std::size_t> begin(request_.size());  // by position in the request
    std::size_t next = 0;
    for (const std::size_t position : order) {
        begin[position] = next;
        next += static_cast<std::size_t>(request_[position].gpu.gpus);
    }
    std::vector<int> cards;
    cards.reserve(fit_.cards.size());
    for (std::size_t position = 0; position < request_.size(); ++position) {
        const auto from = fit_.cards.begin() + static_cast<std::ptrdiff_t>(begin[position]);
        cards.insert(cards.end(), from, from + request_[position].gpu.gpus);
    }
    fit_.cards = std::move(cards);
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

bool Placer::is_untouched(std::size_t card) const {
    return own_[card] == Own{};
}

// One more card for `container`, whose cards so far stand in fit_.cards from `first` on.
bool Placer::place_share(const ContainerRequest& container, std::size_t first, const Offer& offer,
                         CardMask among) {
    const auto taken = fit_.cards.begin() + static_cast<std::ptrdiff_t>(first);
    int best = -1;
    std::int64_t best_price = 0;
    Own best_own;
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        if (!is_among(among, i)) continue;
        const Card& card = offer.cards[i];
        const Bytes ask = bytes_of(container.gpu.memory, offer.unit, card.capacity);
        const Own after = with_share(own_[i], container, ask);
        if (!has_room(card, container.gpu, after.peak, after.cores_peak)) continue;
        if (!admission_.admits(i)) continue;
        if (std::find(taken, fit_.cards.end(), static_cast<int>(i)) != fit_.cards.end()) continue;
        const std::int64_t price = (card.free() - after.peak).count;
        if (best >= 0 && price >= best_price) continue;
        best = static_cast<int>(i);
        best_price = price;
        best_own = after;
    }
    if (best < 0) return false;
    if (container.gpu.gpus == 1 && is_untouched(static_cast<std::size_t>(best))) {
        const auto may_take = [&](std::size_t i) {
            return is_untouched(i) && admission_.admits(i);
        };
        best = static_cast<int>(least_missed(offer, static_cast<std::size_t>(best), may_take));
    }
    fit_.cards.push_back(best);
    fit_.price += best_price;
    before_.push_back(own_[static_cast<std::size_t>(best)]);
    own_[static_cast<std::size_t>(best)] = best_own;
    return true;
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
                .ceiling = container.gpu.ceiling,
            });
        }
        containers.push_back(std::move(given));
    }
    return containers;
}

}  // namespace tessera

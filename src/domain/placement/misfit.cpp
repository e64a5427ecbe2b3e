#include "domain/placement/misfit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "domain/placement/card_room.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

// gpushare's sentence first: its users' tools look for it (docs/compat/gpushare.md). No sentence
// has a percent sign: kube-scheduler makes its event with the reasons as a format.
constexpr std::string_view kNoMemory = "Insufficient GPU Memory in one device";
constexpr std::string_view kNoCompute = "Insufficient GPU compute in one device";
constexpr std::string_view kOtherCard = "No GPU of the kind asked for";
constexpr std::string_view kCompany = "No GPU with the company asked for";
constexpr std::string_view kNotLinked = "No GPUs linked as asked for";
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
        return std::pair(bytes_of(c.gpu.memory, unit, kMoreThanAnyCard), c.gpu.gpus);
    };
    return std::ranges::max_element(request, {}, need)->gpu;
}

// Of a pod that insists on a link: the container with the most cards.
const GpuRequest& widest(const PodRequest& request) {
    const auto cards = [](const ContainerRequest& c) { return c.gpu.gpus; };
    return std::ranges::max_element(request, {}, cards)->gpu;
}

std::string linked(const GpuRequest& gpu) {
    return fmt::format("{} cards linked by {}", gpu.gpus, words_of(*gpu.rules.link));
}

// The annotations that the pod has of the two.
std::string company_of(const CardRules& rules) {
    if (!rules.together) return std::string(kGpuApart);
    if (!rules.apart) return std::string(kGpuTogether);
    return fmt::format("{} or {}", kGpuApart, kGpuTogether);
}

// The models of the cards, in words: "Tesla T4 and Tesla P100".
std::string models_of(std::span<const Gpu> gpus) {
    std::set<std::string_view> models;
    for (const Gpu& gpu : gpus)
        models.insert(gpu.model.empty() ? "of no known model" : std::string_view(gpu.model));
    return fmt::format("{}", fmt::join(models, " and "));
}

// What one card of a node has at most.
struct Most {
    Bytes capacity;
    Bytes free;
    int unusable = 0;  // all cards
};

Most most_of(std::span<const Card> cards) {
    Most out;
    for (const Card& card : cards) {
        out.capacity = std::max(out.capacity, card.capacity);
        out.free = std::max(out.free, card.free());
        out.unusable += card.usable ? 0 : 1;
    }
    return out;
}

}  // namespace

Explainer::Explainer(const PodRequest& request)
    : request_(request),
      one_share_(asks_one_share(request)),
      only_memory_(asks_only_memory(request)),
      admission_(rules_of(request)) {}

const Misfit& Explainer::explain(const PlacementRow& row) {
    if (!only_memory_) {
        Misfit misfit = explain(row.node->offer());
        const auto at = worded_.find(misfit.reason);
        if (at != worded_.end()) return at->second;
        std::string words = misfit.reason;
        return worded_.emplace(std::move(words), std::move(misfit)).first->second;
    }
    const Alike alike{row.cards, row.unit, row.largest.count, row.largest_free.count, row.unusable};
    const auto [at, is_new] = explained_.try_emplace(alike);
    if (is_new) at->second = explain(row.node->offer());
    return at->second;
}

Misfit Explainer::explain(const Offer& offer) {
    if (offer.cards.empty()) return {true, "no GPU on this node", Obstacle::no_gpu, {}};
    if (offer.single_share && !one_share_) return {true, kSingleShare, Obstacle::single_share, {}};
    const CardRules& rules = rules_of(request_);
    admission_.look_at(offer);
    if (rules.admits_any()) return explain_links(offer, offer.cards);
    std::vector<Card> admitted;
    int of_kind = 0;
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        if (admission_.verdict(i) != Admitted::other_card) ++of_kind;
        if (admission_.admits(i)) admitted.push_back(offer.cards[i]);
    }
    const GpuRequest& gpu = hardest(request_, offer.unit);
    if (of_kind < gpu.gpus) {
        return {
            true,
            fmt::format("{}: asked {}{}, this node has {} ({} cards)", kOtherCard, wish_of(rules),
                        gpu.gpus > 1 ? fmt::format(", {} of them", gpu.gpus) : "",
                        models_of(offer.gpus), offer.cards.size()),
            Obstacle::other_card,
            {},
            offer.unit};
    }
    if (static_cast<int>(admitted.size()) < gpu.gpus) {
        return {false,
                fmt::format("{}: {} leaves {} of this node's {} cards", kCompany, company_of(rules),
                            admitted.size(), offer.cards.size()),
                Obstacle::company,
                {},
                offer.unit};
    }
    return explain_links(offer, admitted);
}

Misfit Explainer::explain_links(const Offer& offer, std::span<const Card> admitted) const {
    const GpuRequest& gpu = widest(request_);
    if (!gpu.rules.link || gpu.gpus == 1) return explain_room(admitted, offer.unit);
    Counts most;
    Counts all;
    for (std::size_t i = 0; i < offer.cards.size(); ++i)
        count(offer, i, all);
    for (const Island& island : offer.islands) {
        if (!island.has(*gpu.rules.link)) continue;
        Counts here;
        for (std::size_t i = 0; i < offer.cards.size(); ++i) {
            if (is_among(island.cards, i)) count(offer, i, here);
        }
        most.of_kind = std::max(most.of_kind, here.of_kind);
        most.with_room = std::max(most.with_room, here.with_room);
    }
    if (most.of_kind < gpu.gpus) {
        const std::string here =
            offer.islands.empty()
                ? fmt::format("this node does not say how its {} cards are", offer.cards.size())
            : most.of_kind == 0
                ? fmt::format("none of this node's {} cards are", offer.cards.size())
                : fmt::format("at most {} of this node's {} cards are", most.of_kind,
                              offer.cards.size());
        return {true,
                fmt::format("{}: asked {}, {}", kNotLinked, linked(gpu), here),
                Obstacle::not_linked,
                {},
                offer.unit};
    }
    if (all.with_room < gpu.gpus || most.with_room >= gpu.gpus)
        return explain_room(admitted, offer.unit);
    return {false,
            fmt::format("{}: asked {}, {} of them have the room", kNotLinked, linked(gpu),
                        most.with_room),
            Obstacle::links,
            {},
            offer.unit};
}

void Explainer::count(const Offer& offer, std::size_t card, Counts& counts) const {
    const GpuRequest& gpu = widest(request_);
    if (admission_.verdict(card) == Admitted::other_card) return;
    ++counts.of_kind;
    if (admission_.admits(card) && has_room(offer, card, gpu)) ++counts.with_room;
}

Misfit Explainer::explain_room(std::span<const Card> cards, MemoryUnit unit) const {
    const std::string_view noun =
        rules_of(request_).admits_any() ? "cards" : "cards that it admits";
    const GpuRequest& gpu = hardest(request_, unit);
    const Most most = most_of(cards);
    int large_enough = 0;
    int free_enough = 0;
    for (const Card& card : cards) {
        const Bytes ask = bytes_of(gpu.memory, unit, card.capacity);
        large_enough += ask <= card.capacity ? 1 : 0;
        free_enough += card.usable && ask <= card.free() ? 1 : 0;
    }
    const std::string unusable =
        most.unusable == 0 ? "" : fmt::format(", {} out of use", most.unusable);
    const std::string of_cards = fmt::format("({} {}{})", cards.size(), noun, unusable);
    if (large_enough < gpu.gpus) {
        const std::string room =
            gpu.gpus == 1 ? fmt::format("the largest of {} {} has {}, {} are large enough",
                                        cards.size(), noun, to_string(most.capacity), large_enough)
                          : fmt::format("{} of this node's {} {} are large enough", large_enough,
                                        cards.size(), noun);
        return {true, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                Obstacle::too_large, most.capacity, unit};
    }
    const bool none_usable = most.unusable == static_cast<int>(cards.size());
    if (free_enough < gpu.gpus) {
        const std::string room = gpu.gpus == 1
                                     ? fmt::format("largest free share on a card is {} {}",
                                                   to_string(most.free), of_cards)
                                     : fmt::format("{} of this node's {} {} have that free{}",
                                                   free_enough, cards.size(), noun, unusable);
        return {false, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                none_usable ? Obstacle::unhealthy : Obstacle::memory, most.free, unit};
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
            return fmt::format("{}: asked {}, and every card is out of use", kNoMemory, ask);
        case Obstacle::compute:
            return fmt::format("{}: asked {}", kNoCompute, ask);
        case Obstacle::other_card:
            return fmt::format("{}: asked {}", kOtherCard, wish_of(rules_of(request_)));
        case Obstacle::links:
        case Obstacle::not_linked:
            return fmt::format("{}: asked {}", kNotLinked, linked(widest(request_)));
        case Obstacle::company:
            return fmt::format("{}: {} leaves too few cards of each node", kCompany,
                               company_of(rules_of(request_)));
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

// Why a pod does not fit on a node: the words that its owner reads, with numbers.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "domain/cluster/view.hpp"
#include "domain/placement/admission.hpp"
#include "domain/placement/obstacle.hpp"

namespace tessera {

// Why a pod does not fit: `never` when nothing that ends or heals on this node could change it.
struct Misfit {
    bool never = false;
    std::string reason;  // numbers included; becomes the scheduler's message for the node
    Obstacle obstacle = Obstacle::no_gpu;
    Bytes most;  // what the reason quotes: the largest card (too_large) or free share of the node
    MemoryUnit unit = MemoryUnit::gib;  // of the node

    friend bool operator==(const Misfit&, const Misfit&) = default;
};

// Of one pod, on nodes where Placer::try_node finds nothing. Slower than that.
class Explainer {
  public:
    // The request outlives the explainer.
    explicit Explainer(const PodRequest& request);

    [[nodiscard]] Misfit explain(const Offer& offer);
    // The words are the same for nodes that are alike, and kept: one address per wording, as long
    // as the explainer.
    const Misfit& explain(const PlacementRow& row);
    // The same for many nodes, of which `most` quotes the largest number.
    [[nodiscard]] std::string explain_many(const Misfit& most) const;

  private:
    // Of the cards that the pod admits, too few have room.
    [[nodiscard]] Misfit explain_room(std::span<const Card> cards, MemoryUnit unit) const;

    // Cards of a set.
    struct Counts {
        int of_kind = 0;    // that the pod admits by their names
        int with_room = 0;  // for a share of its container with the most cards
    };
    void count(const Offer& offer, std::size_t card, Counts& counts) const;
    // The same, and where they are not linked as the pod insists.
    [[nodiscard]] Misfit explain_links(const Offer& offer, std::span<const Card> admitted) const;

    // What a Misfit of a pod that asks for one share of bytes depends on.
    using Alike = std::tuple<std::size_t, MemoryUnit, std::int64_t, std::int64_t, int>;

    const PodRequest& request_;
    const bool one_share_;
    const bool only_memory_;
    Admission admission_;
    std::map<Alike, Misfit> explained_;
    std::map<std::string, Misfit, std::less<>> worded_;  // where Alike says too little
};

}  // namespace tessera

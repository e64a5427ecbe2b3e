// Where a pod fits on a node. The one decision of this product, used by filter, prioritize and bind
// alike so that they cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/view.hpp"
#include "domain/placement/admission.hpp"
#include "domain/placement/card_sets.hpp"

namespace tessera {

// A pod's cards on one node: for every container of the request, in order, the chosen positions in
// the node's card list (`gpus` of them each, flattened).
struct Fit {
    std::vector<int> cards;
    std::int64_t price = 0;  // bytes left free on these cards, in all: the less the better
};

// The pod's.
const CardRules& rules_of(const PodRequest& request);

// One card for one container.
bool asks_one_share(const PodRequest& request);
// That, and nothing of it but memory, of any card: the largest free share of a node decides.
bool asks_only_memory(const PodRequest& request);

// Places the containers greedily by best fit, the policy of gpushare (docs/research/gpushare.md
// §2.5): each takes the distinct cards with the least room that is enough for the pod's peak
// (allocation.hpp), the lowest index among equals; where the cards are linked, as card_sets.hpp
// says. First in the order of the pod; where they do not fit so, the app containers once more with
// the largest first, so that a small one does not take the card that a large one needs. Not every
// fit is found by that: to decide it is bin packing.
// Reused across nodes by one thread so that next to nothing is allocated per node.
class Placer {
  public:
    Placer(const PodRequest& request);

    // The price of the fit that try_node would find; nothing where it finds none or the node is not
    // open.
    std::optional<std::int64_t> price(const PlacementRow& row, std::span<const Bytes> free);

    // The best fit on these cards, or nothing. The result is valid until the next call.
    const Fit* try_node(const Offer& offer);

  private:
    struct Own {  // of the pod being placed, per card
        Bytes running;
        Bytes peak;
        Percent cores_running;
        Percent cores_peak;

        friend bool operator==(const Own&, const Own&) = default;
    };

    static Own with_share(const Own& own, const ContainerRequest& container, Bytes ask);
    bool place_in_some_order(const Offer& offer, Nearness nearness);
    bool place_all(std::span<const std::size_t> order, const Offer& offer, Nearness nearness);
    bool place_container(const ContainerRequest& container, const Offer& offer, Nearness nearness);
    bool place_shares(const ContainerRequest& container, const Offer& offer, CardMask among);
    bool place_share(const ContainerRequest& container, std::size_t first, const Offer& offer,
                     CardMask among);
    [[nodiscard]] bool is_untouched(std::size_t card) const;
    void sort_as_asked(std::span<const std::size_t> order);

    const PodRequest& request_;
    const bool one_share_;
    const bool only_memory_;
    Admission admission_;
    std::vector<std::size_t> in_order_;
    std::vector<std::size_t> largest_first_;  // empty where it is the same
    std::vector<Own> own_;
    std::vector<Own> before_;  // of the cards that the container at hand has taken so far
    CardSets sets_;
    Fit fit_;
};

// The cards of `fit` as the allocation's containers. `gpus` and the cards given to try_node are
// parallel.
std::vector<ContainerAllocation> containers_of(const PodRequest& request, const Fit& fit,
                                               std::span<const Gpu> gpus, MemoryUnit unit);

}  // namespace tessera

// Where a pod fits on a node. The one decision of this product, used by filter, prioritize and bind
// alike so that they cannot disagree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/view.hpp"
#include "domain/placement/obstacle.hpp"
#include "domain/placement/policy.hpp"

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

// A pod's cards on one node: for every container of the request, in order, the chosen positions in
// the node's card list (`gpus` of them each, flattened).
struct Fit {
    std::vector<int> cards;
    std::int64_t price = 0;  // of the policy
};

// Places the containers greedily in order; each takes the cheapest distinct cards that can hold the
// pod's peak (allocation.hpp). Reused across nodes by one thread so that nothing is allocated per
// node.
class Placer {
  public:
    Placer(const PodRequest& request, const Policy& policy);

    // The price of the fit that try_node would find; nothing where it finds none or the node is not
    // open.
    std::optional<std::int64_t> price(const PlacementRow& row, std::span<const Bytes> free);

    // The best fit on these cards, or nothing. The result is valid until the next call.
    const Fit* try_node(const Offer& offer);

    // Why try_node finds nothing. Slower; the words are the same for nodes that are alike, and
    // kept: one address per wording, as long as the placer.
    const Misfit& explain(const PlacementRow& row);
    [[nodiscard]] Misfit explain(const Offer& offer) const;
    // The same for many nodes, of which `most` quotes the largest number.
    [[nodiscard]] std::string explain_many(const Misfit& most) const;

  private:
    struct Own {  // of the pod being placed, per card
        Bytes running;
        Bytes peak;
        Percent cores_running;
        Percent cores_peak;
    };

    static Own with_share(const Own& own, const ContainerRequest& container, Bytes ask);
    bool place_share(const ContainerRequest& container, std::size_t first, const Offer& offer);

    // What a Misfit of a pod that asks for one share of bytes depends on.
    using Alike = std::tuple<std::size_t, MemoryUnit, std::int64_t, std::int64_t, int>;

    const PodRequest& request_;
    const Policy& policy_;
    const bool single_share_;
    // One share of bytes and nothing else is asked: the largest free share of a node decides.
    const bool only_memory_;
    std::vector<Own> own_;
    Fit fit_;
    std::map<Alike, Misfit> explained_;
    std::map<std::string, Misfit, std::less<>> worded_;  // where Alike says too little
};

// The cards of `fit` as the allocation's containers. `gpus` and the cards given to try_node are
// parallel.
std::vector<ContainerAllocation> containers_of(const PodRequest& request, const Fit& fit,
                                               std::span<const Gpu> gpus, MemoryUnit unit);

}  // namespace tessera

// The placement policy: which of the cards (and nodes) that can take a share should take it. One
// file per policy; policies() is the table of their names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// A card that can take the share, as a policy sees it.
struct Candidate {
    const Card& card;
    Bytes own_before;  // what the pod being placed holds here already
    Bytes own_after;   // and would hold with the share
};

// A card of a node and its price; no card, and no price, when `card` is -1.
struct PricedCard {
    int card = -1;
    std::int64_t price = 0;
};

// Immutable; may be called by many threads at once.
class Policy {
  public:
    virtual ~Policy() = default;

    // The price of putting the share there, in any unit of the policy's own: the cheapest card
    // wins, the lowest index among equals, and the node with the lowest sum over a pod's shares.
    [[nodiscard]] virtual std::int64_t price(const Candidate& candidate) const = 0;
    // The same for a pod that asks for one share of memory and nothing else, over the cards of a
    // node at once: `free` is what each has free, 0 when it is not in use; `ask` is above 0. This
    // is the usual pod, and is asked of every node: a virtual call and two cache lines per card
    // would be most of what a request costs (extender_bench).
    [[nodiscard]] virtual PricedCard cheapest(std::span<const Bytes> free, Bytes ask) const = 0;
};

struct PolicyRow {
    std::string_view name;
    std::string_view summary;
    const Policy& (*get)();
};

std::span<const PolicyRow> policies();
// not_found, naming the policies that exist.
Result<const Policy*> find_policy(std::string_view name);

}  // namespace tessera

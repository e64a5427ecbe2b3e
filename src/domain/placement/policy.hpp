// The placement policy: which of the cards (and nodes) that can take a share should take it. One
// file per policy; policies() is the table that config and help read.
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

// A card of a node and its price; no card when `card` is -1.
struct PricedCard {
    int card = -1;
    std::int64_t price = 0;
};

// Immutable; may be called by many threads at once.
class Policy {
  public:
    virtual ~Policy() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;
    // The price of putting the share there, in any unit of the policy's own: the cheapest card
    // wins, the lowest index among equals, and the node with the lowest sum over a pod's shares.
    [[nodiscard]] virtual std::int64_t price(const Candidate& candidate) const = 0;
    // The cheapest card that has `ask` free, for a pod that asks for nothing else: the usual case,
    // asked of every node for every pod.
    [[nodiscard]] virtual PricedCard cheapest(std::span<const Card> cards, Bytes ask) const = 0;
};

// A Policy from a Rule, which supplies kName and a static price(Candidate): the loop over the cards
// is compiled for each rule, since a virtual call per card is most of what a request costs
// otherwise.
template <class Rule>
class PolicyOf final : public Policy {
  public:
    [[nodiscard]] std::string_view name() const override { return Rule::kName; }
    [[nodiscard]] std::int64_t price(const Candidate& candidate) const override {
        return Rule::price(candidate);
    }
    [[nodiscard]] PricedCard cheapest(std::span<const Card> cards, Bytes ask) const override {
        PricedCard best;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            if (!cards[i].healthy || ask > cards[i].free()) continue;
            const std::int64_t price = Rule::price({cards[i], {}, ask});
            if (best.card < 0 || price < best.price) best = {static_cast<int>(i), price};
        }
        return best;
    }
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

#include "app/sim/live_cards.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

// The place of `value` in `values`, where it is put if it is not there.
template <class Value>
std::size_t number_of(std::vector<Value>& values, const Value& value) {
    const auto found = std::ranges::find(values, value);
    if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
    values.push_back(value);
    return values.size() - 1;
}

bool is_mixed(const SnapshotNode& node) {
    const SnapshotCard& first = node.cards.front();
    return std::ranges::any_of(node.cards, [&](const SnapshotCard& card) {
        return card.model != first.model || card.memory != first.memory;
    });
}

}  // namespace

Result<LiveCards> LiveCards::of(const ClusterSnapshot& snapshot) {
    LiveCards out;
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        const SnapshotNode& node = snapshot.nodes[i];
        out.kind_of_.push_back(0);
        out.size_of_.emplace_back();
        if (node.cards.empty()) continue;
        for (const SnapshotCard& card : node.cards) {
            const CardSize size{node.unit, card.memory};
            out.size_of_[i].push_back(number_of(out.sizes_, size));
        }
        const auto largest = std::ranges::max_element(node.cards, {}, &SnapshotCard::memory);
        const auto at = static_cast<std::size_t>(largest - node.cards.begin());
        const NodeKind kind{node.cards.front().model, out.size_of_[i][at], is_mixed(node)};
        const std::size_t number = number_of(out.kinds_, kind);
        if (number >= kMaxModels) {
            return fail(Code::unsupported,
                        fmt::format("nodes: more than {} kinds of cards (model, memory, unit); "
                                    "leave some nodes out",
                                    kMaxModels));
        }
        out.kind_of_[i] = static_cast<int>(number);
        if (kind.mixed) out.mixed_nodes_.push_back(i);
    }
    out.counts_.assign(out.kinds_.size(), std::vector<int>(out.sizes_.size()));
    for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
        for (const std::size_t size : out.size_of_[i])
            ++out.counts_[static_cast<std::size_t>(out.kind_of_[i])][size];
    }
    return out;
}

CardSet LiveCards::cards_of_size(std::size_t node, std::size_t size) const {
    const auto& sizes = size_of_[node];
    CardSet cards = 0;
    for (std::size_t card = 0; card < std::min<std::size_t>(sizes.size(), kMaxCards); ++card) {
        if (sizes[card] == size)
            cards = static_cast<CardSet>(cards | card_bit(static_cast<int>(card)));
    }
    return cards;
}

}  // namespace tessera

// Whether a card takes one more share.
#pragma once

#include <cstddef>

#include "domain/cluster/node.hpp"

namespace tessera {

// `peak`, `cores_peak`: what the pod would have there at most, with this share.
inline bool has_room(const Card& card, const GpuRequest& gpu, Bytes peak, Percent cores_peak) {
    const bool is_whole = gpu.memory.kind == MemoryAsk::Kind::whole_card;
    return card.usable && peak <= card.free() && (card.cores_held + cores_peak).value <= 100 &&
           (!is_whole || card.holders == 0);
}

// The same where the pod has nothing else on it.
inline bool has_room(const Offer& offer, std::size_t card, const GpuRequest& gpu) {
    const Card& of = offer.cards[card];
    return has_room(of, gpu, bytes_of(gpu.memory, offer.unit, of.capacity), gpu.cores);
}

}  // namespace tessera

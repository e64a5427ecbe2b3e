// Which cards a process may see, and in which order.
//
// A card is there when its marker file is (as with /dev/nvidia<minor>). NVIDIA_VISIBLE_DEVICES only
// takes away from that, as a container toolkit would have: "all", "void", empty or unset take
// nothing
// ("void" is how the toolkit says that others bring the devices in), "none" takes all, else a list
// of indices on the node and of UUIDs names what stays. CUDA_VISIBLE_DEVICES chooses and orders for
// libcuda alone: a list of indices among the cards that are there, and of UUIDs or unique
// beginnings of UUIDs. The first entry that names no card ends the list; a card named twice empties
// it. Source: CUDA programming guide, and how PyTorch parses the same.
#pragma once

#include "gpusim/state/state.hpp"

namespace gpusim {

struct CardList {
    int count = 0;
    int cards[kMaxCards] = {};  // indices into CardsFile::cards
};

// The cards that this container has, in the node's order.
CardList present_cards(const State& state, const char* nvidia_visible_devices);

// Those of `present` that CUDA shows, in its order. `cuda_visible_devices` may be null (unset).
CardList cuda_cards(const State& state, const CardList& present, const char* cuda_visible_devices);

}  // namespace gpusim

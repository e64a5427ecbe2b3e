// What `gpusimctl show` prints.
#pragma once

#include <string>

#include "gpusim/state/state.hpp"

namespace gpusim {

// One line per card, then one per live process and card.
std::string report(const State& state);

}  // namespace gpusim

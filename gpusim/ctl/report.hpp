// What `gpusimctl show` prints.
#pragma once

#include <string>

#include "gpusim/state/state.hpp"

namespace gpusim {

// One line per GPU, then one per live process and GPU.
std::string report(const State& state);

}  // namespace gpusim

// A resize in words.
#pragma once

#include <string>

#include "domain/allocation/allocation.hpp"

namespace tessera {

// What changed, per container and card: "main on card 0: memory 4Gi -> 6Gi, cores 30 -> 40;
// side on card 1: ceiling 100 -> 50". Cards are named by the index that they were given with.
// `after` is a resize of `before` (resize.hpp); empty where they hold the same.
std::string resize_text(const Allocation& before, const Allocation& after);

}  // namespace tessera

// A resize in words.
#pragma once

#include <string>

#include "domain/allocation/allocation.hpp"

namespace tessera {

// What changed, per container and GPU: "main on GPU 0: memory 4Gi -> 6Gi, cores 30 -> 40; side on
// GPU 1: compute limit 100 -> 50". A GPU is named by its index at the time of the allocation.
// `after` is a resize of `before` (resize.hpp). Empty if nothing changed.
std::string resize_text(const Allocation& before, const Allocation& after);

}  // namespace tessera

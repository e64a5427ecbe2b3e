// The log of NVIDIA's MPS server, server.log. Source: the texts in libcuda of the drivers 535 and
// 550, which does the server's work (docs/research/mps-debian.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::mps {

// The processes that had a fatal error on a GPU, by these whole lines, in their order:
//     [2026-11-29 12:00:00.000 Other   17] Client process 4711 encountered a fatal GPU error.
// Other lines are left out.
std::vector<std::int64_t> faulted_clients(std::string_view text);

}  // namespace tessera::mps

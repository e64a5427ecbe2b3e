// The tables of `kubectl inspect gpushare`, byte for byte except for the order, which is sorted
// here (docs/research/gpushare.md §3; testdata next to the tests).
#pragma once

#include <span>
#include <string>

#include "app/cli/usage.hpp"

namespace tessera {

std::string gpushare_summary(std::span<const NodeUsage> nodes);
std::string gpushare_details(std::span<const NodeUsage> nodes);

}  // namespace tessera

// The tables of `kubectl inspect gpushare`, byte for byte except for the order, which is sorted
// here (docs/research/gpushare.md §3; testdata next to the tests).
#pragma once

#include <span>
#include <string>

#include "app/cli/usage.hpp"

namespace tessera {

// Which GPUs the sums contain. The original counts all. With `usable`, the summary also says which
// GPUs are unhealthy or not shareable.
enum class CountedGpus { all, usable };

std::string gpushare_summary(std::span<const NodeUsage> nodes,
                             CountedGpus counted = CountedGpus::all);
std::string gpushare_details(std::span<const NodeUsage> nodes,
                             CountedGpus counted = CountedGpus::all);

}  // namespace tessera

// The pod annotation tessera.dev/allocation. Grammar and history: docs/formats/allocation.md.
#pragma once

#include <string>
#include <string_view>

#include "domain/allocation/allocation.hpp"
#include "domain/dialect/dialect.hpp"

namespace tessera {

inline constexpr int kAllocationVersion = 1;

std::string write_allocation(const Allocation& allocation);

// invalid_argument for text that is not an allocation, or in a dialect that is unknown. unsupported
// for a newer version: the text may then be valid, and must not be treated as empty.
Result<Allocation> read_allocation(std::string_view text,
                                   const Dialects& dialects = all_dialects());

// The pod that an allocation of any version was made for; empty if the text does not say. The
// member `pod` keeps its meaning in later versions.
PodUid pod_of_allocation(std::string_view text);

}  // namespace tessera

// Classes of the reasons why a pod does not fit on a node. They can be counted; the texts are for
// people.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tessera {

enum class UnschedulableReason {
#define UNSCHEDULABLE_REASON(name, meaning) name,
#include "domain/placement/unschedulable_reasons.def"
#undef UNSCHEDULABLE_REASON
};

struct UnschedulableReasonRow {
    UnschedulableReason reason;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr auto kUnschedulableReasons = std::to_array<UnschedulableReasonRow>({
#define UNSCHEDULABLE_REASON(name, meaning) {UnschedulableReason::name, #name, meaning},
#include "domain/placement/unschedulable_reasons.def"
#undef UNSCHEDULABLE_REASON
});

}  // namespace tessera

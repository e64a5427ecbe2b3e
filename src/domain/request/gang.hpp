// Gangs: pods that are placed together or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct GangMembership {
    std::string gang;  // its name, within the pod's namespace
    // At least this number of its pods are placed together. 0: the PodGroup says it
    // (pod_group.hpp).
    int size = 0;

    friend bool operator==(const GangMembership&, const GangMembership&) = default;
};

inline constexpr int kMostGangPods = 1'000;

// Parses the two texts of a pod; `source` names where the size was written. Errors:
// invalid_argument.
Result<GangMembership> parse_gang(std::string_view gang, std::string_view size,
                                  std::string_view source);

}  // namespace tessera

// Pods that are of use together only: placed all of them, or none.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct GangMembership {
    std::string gang;  // its name, within the pod's namespace
    // So many of its pods are placed together, at least; 0: its PodGroup says (pod_group.hpp).
    int size = 0;

    friend bool operator==(const GangMembership&, const GangMembership&) = default;
};

inline constexpr int kMostGangPods = 1'000;

// From the two texts of a pod; `source` names where the size stood. invalid_argument.
Result<GangMembership> parse_gang(std::string_view gang, std::string_view size,
                                  std::string_view source);

}  // namespace tessera

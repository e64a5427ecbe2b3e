// Resize: changes the amounts of a running pod's shares. The GPUs stay the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "domain/allocation/allocation.hpp"

namespace tessera {

// The driver's allocation granularity (guard/region/layout.hpp): no share is smaller.
inline constexpr Bytes kSmallestShare = mebibytes(2);

// Amounts of each GPU of a container. An amount that is left out does not change.
struct RequestedShares {
    struct Container {
        std::string name;
        std::optional<Bytes> memory;
        std::optional<Percent> cores;        // 0: no guarantee
        std::optional<Percent> cores_limit;  // 100: no limit

        friend bool operator==(const Container&, const Container&) = default;
    };
    std::vector<Container> containers;  // no name twice

    friend bool operator==(const RequestedShares&, const RequestedShares&) = default;
};

// Whether the pod already has what is requested.
bool is_granted(const RequestedShares& requested, const Allocation& allocation);

// Whether `after` came from `before` by resizes: the same pod on the same GPUs, with a higher
// revision.
bool is_resize_of(const Allocation& before, const Allocation& after);

}  // namespace tessera

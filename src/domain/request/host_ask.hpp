// What a pod takes of its node beside the GPUs, by its requests: what the scheduler counts.
#pragma once

#include <cstdint>

#include "base/quantity.hpp"

namespace tessera {

struct HostAsk {
    std::int64_t cpu_milli = 0;  // thousandths of a core
    Bytes memory;

    friend bool operator==(const HostAsk&, const HostAsk&) = default;
};

}  // namespace tessera

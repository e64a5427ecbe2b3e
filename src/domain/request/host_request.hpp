// CPU and memory that a pod takes of its node. Its requests count, as for kube-scheduler.
#pragma once

#include <cstdint>

#include "base/quantity.hpp"

namespace tessera {

struct HostRequest {
    std::int64_t cpu_milli = 0;  // thousandths of a core
    Bytes memory;

    friend bool operator==(const HostRequest&, const HostRequest&) = default;
};

}  // namespace tessera

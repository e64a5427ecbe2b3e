// What a pod asks of GPUs, in one meaning for every dialect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/card_rules.hpp"

namespace tessera {

// The unit in which a node counts aliyun.com/gpu-mem. Set per node by the agent's flag, so the same
// pod means 3 GiB on one node and 3 MiB on another.
enum class MemoryUnit { gib, mib };

constexpr Bytes bytes_per_unit(MemoryUnit unit) {
    return unit == MemoryUnit::gib ? gibibytes(1) : mebibytes(1);
}
constexpr std::string_view unit_name(MemoryUnit unit) {
    return unit == MemoryUnit::gib ? "GiB" : "MiB";
}

// Memory asked of each card.
struct MemoryAsk {
    enum class Kind {
        whole_card,  // all of a card that nobody else holds
        bytes,       // `amount` bytes
        node_units,  // `amount` of the node's own MemoryUnit
    };
    Kind kind = Kind::whole_card;
    std::int64_t amount = 0;

    friend bool operator==(const MemoryAsk&, const MemoryAsk&) = default;
};

// Of a card's compute: all that others leave.
inline constexpr Percent kNoCeiling{100};

// One row of the dialect table; see dialect.hpp.
enum class DialectId { native, aliyun };

struct GpuRequest {
    int gpus = 1;  // distinct cards
    MemoryAsk memory;
    Percent cores;                 // guaranteed, per card; 0 asks for nothing
    Percent ceiling = kNoCeiling;  // the most of a card, also where nobody else wants it
    DialectId dialect = DialectId::native;
    CardRules rules;  // the pod's: the same for each of its containers

    friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

// When a container holds its share: an init container only before the app containers, a sidecar (an
// init container that restarts always) from its start to the end of the pod.
enum class ContainerKind { app, init, sidecar };

struct ContainerRequest {
    std::string container;
    ContainerKind kind = ContainerKind::app;
    GpuRequest gpu;

    friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

// The containers of one pod that ask for GPUs, in the order in which kubelet starts them: init
// containers first. Empty means that the pod is none of our business.
using PodRequest = std::vector<ContainerRequest>;

}  // namespace tessera

// What a container makes of its share of a card, as the node's agent sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace tessera {

struct ProcessUse {
    std::int64_t pid = 0;  // as the process sees itself
    Bytes held;

    friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

struct ShareUse {
    PodUid pod;
    PodName name;  // empty where the agent does not know it
    std::string container;
    GpuUuid card;
    Bytes held;  // by processes that live
    Bytes limit;
    Percent cores;              // of the card's time that it is sure of; 0: of none
    std::int64_t refusals = 0;  // allocations that the limit refused
    // Of its processes together, by the clock; 0 where the card's time is not shared out.
    std::int64_t kernels_ns = 0;  // they had kernels on their way or running
    std::int64_t copies_ns = 0;
    std::int64_t waited_ns = 0;         // for their turn
    std::vector<ProcessUse> processes;  // that live and hold something of the card

    friend bool operator==(const ShareUse&, const ShareUse&) = default;
};

}  // namespace tessera

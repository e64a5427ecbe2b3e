// What a container makes of its share of a card, as the node's agent sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

struct ProcessUse {
    std::int64_t pid = 0;  // as the process sees itself
    Bytes held;            // 0: it is known, and holds nothing of this card

    friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

// By the clock, of a container's processes together.
struct CardTime {
    std::int64_t kernels_ns = 0;
    std::int64_t copies_ns = 0;

    friend bool operator==(const CardTime&, const CardTime&) = default;
};

struct ShareUse {
    PodUid pod;
    PodName name;  // empty where the agent does not know it
    std::string container;
    GpuUuid card;
    Bytes held;  // by processes that live
    Bytes limit;
    Percent cores;                 // of the card's time that it is sure of; 0: of none
    Percent ceiling = kNoCeiling;  // the most that it gets
    std::int64_t refusals = 0;     // allocations that the limit refused
    bool is_timed = false;         // the card's time is shared out; else these stand still:
    CardTime in_flight;            // with work of any process on its way or there, beside whomever
    CardTime had;                  // of that the card's own time, since this agent looks
    std::int64_t waited_ns = 0;    // for its turn, before it gave the work to the card
    std::vector<ProcessUse> processes;  // that live and hold something of the card
    // Its processes broke the accounts, and get no more memory: what it holds is not known.
    bool is_damaged = false;

    friend bool operator==(const ShareUse&, const ShareUse&) = default;
};

}  // namespace tessera

// Memory of a card that the driver says a pod's processes use, and that the guard's accounts do not
// know: somebody goes past the guard (docs/guard.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

// A process that uses a card, as the driver counts it: its context too.
struct CardProcess {
    GpuUuid card;
    std::int64_t pid = 0;  // as the asker sees it
    PodUid pod;            // empty: of no pod
    Bytes used;
};

struct Unaccounted {
    PodUid pod;
    PodName name;  // empty where nothing of the pod is held
    GpuUuid card;
    Bytes used;                      // as the driver says
    Bytes held;                      // as the accounts say
    std::vector<std::int64_t> pids;  // of the pod, on the card

    friend bool operator==(const Unaccounted&, const Unaccounted&) = default;
};

// Pods that use more of a card than they hold of it, by more than `allowance` for each process that
// the accounts know (what the driver takes for it, which they may not know), and by one where they
// know none: many processes past the guard get no more than one. A pod without a share of the card
// counts where another's processes live by one: a card that is given whole has no such neighbour.
// Both looks are of about one time, so one finding alone proves nothing. By pod, then card.
std::vector<Unaccounted> find_unaccounted(std::span<const CardProcess> processes,
                                          std::span<const ShareUse> uses, Bytes allowance);

// What is in use of a card, by whomever, as the driver says.
struct CardInUse {
    GpuUuid card;
    Bytes used;
};

// More of a card is in use than all who are known have of it: a descriptor past the guard holds it,
// or the driver keeps it.
struct Unclaimed {
    GpuUuid card;
    Bytes used;     // of the card
    Bytes claimed;  // by its processes, as the driver says, or by its shares, as the accounts do

    friend bool operator==(const Unclaimed&, const Unclaimed&) = default;
};

// Cards with shares of which over `allowance` is nobody's. Each pod has what its processes use or
// its shares hold, whichever is more: what a descriptor holds the accounts know, and the driver
// counts for no process. All looks are of about one time, so one finding alone proves nothing.
std::vector<Unclaimed> find_unclaimed(std::span<const CardInUse> cards,
                                      std::span<const CardProcess> processes,
                                      std::span<const ShareUse> uses, Bytes allowance);

}  // namespace tessera

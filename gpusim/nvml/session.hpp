// What libnvidia-ml.so.1 knows in one process: whether it is initialized, and which cards it shows.
//
// It only ever reads the shared state, so that it works on a read-only mount.
// Thread rule: initialize and shut_down take a mutex; queries run without one, as long as no thread
// shuts NVML down under another.
#pragma once

#include "api/nvidia/nvml.h"
#include "gpusim/state/state.hpp"
#include "gpusim/state/visible.hpp"

// An nvmlDevice_t points to one. Handles stay valid for the life of the process.
struct nvmlDevice_st {
    int card;        // index into CardsFile::cards
    unsigned index;  // as nvmlDeviceGetIndex gives it
};

namespace gpusim {

struct Nvml {
    State state;
    CardList present;
    std::uint32_t driver_loads;        // CardsFile::driver_loads when it came up
    nvmlDevice_st devices[kMaxCards];  // by card
};

extern constinit Nvml nvml;

nvmlReturn_t initialize();
nvmlReturn_t shut_down();

// NVML_SUCCESS or NVML_ERROR_UNINITIALIZED; NVML_ERROR_UNKNOWN of a dead driver, and of one that
// was loaded again since NVML came up.
nvmlReturn_t ready();

// What NVML answers in place of the truth about this card; NVML_SUCCESS where it tells the truth.
nvmlReturn_t card_error(const Card& card);

// Whether NVML answers NVML_ERROR_NOT_SUPPORTED to what it is asked there.
inline bool hides(const Card& card, Hidden what) {
    return (card.hidden.load() & what) != 0;
}

// The card behind a handle: NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT for what is no
// handle, and what card_error says.
nvmlReturn_t find_card(nvmlDevice_t device, const Card** card);

// Copies `text` as NVML does: NVML_ERROR_INSUFFICIENT_SIZE when it does not fit whole.
nvmlReturn_t copy_text(const char* text, char* out, unsigned length);

}  // namespace gpusim

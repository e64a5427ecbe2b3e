// Roll-ups and removals, in transactions of some thousand rows.
#pragma once

#include <soci/soci.h>

#include <cstdint>

#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// Both do a part of the hours before `hour`, in the caller's transaction, and say whether there may
// be more. Sums stay as they are after a roll-up. They throw soci_error.
struct RolledUpPart {
    RolledUp rows;
    bool is_last = false;
};
RolledUpPart roll_up_some(soci::session& sql, std::int64_t hour);

struct RemovedPart {
    std::int64_t rows = 0;
    bool is_last = false;
};
RemovedPart remove_some(soci::session& sql, std::int64_t hour);

}  // namespace tessera

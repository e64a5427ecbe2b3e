// Roll-ups and removals, in transactions of some thousand rows.
#pragma once

#include <soci/soci.h>

#include <cstdint>

#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// Hours before `hour`, about `rows` rows of records at a time.
struct PartLimit {
    std::int64_t hour = 0;
    std::int64_t rows = 0;
};

// Both do a part in the caller's transaction, and say whether there may be more. Sums stay as they
// are after a roll-up. They throw soci_error.
struct RolledUpPart {
    RolledUp rows;
    bool is_last = false;
};
RolledUpPart roll_up_some(soci::session& sql, PartLimit limit);

struct RemovedPart {
    std::int64_t rows = 0;
    bool is_last = false;
};
RemovedPart remove_some(soci::session& sql, PartLimit limit);

// The hours before it were removed, and stay so.
std::int64_t removed_before_hour(soci::session& sql);

}  // namespace tessera

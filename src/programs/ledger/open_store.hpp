// Opens the ledger's database, and waits for one that is away.
#pragma once

#include <memory>
#include <stop_token>

#include "app/ledger/store_faults.hpp"
#include "ports/clock.hpp"
#include "ports/ledger/ledger_store.hpp"
#include "programs/ledger/ledger_config.hpp"

namespace tessera {

// Null if `stop` was requested first. While the database is unavailable it is tried again, and
// /healthz answers: a restart would not help. Other errors are final: the database is damaged, of a
// newer release, or of another program, and is not changed.
Result<std::unique_ptr<LedgerStore>> open_store(const Config& config, StoreFaults& faults,
                                                Clock& clock, const std::stop_token& stop);

}  // namespace tessera

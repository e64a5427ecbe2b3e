// Opens the ledger's database, and waits for one that is away.
#pragma once

#include <memory>
#include <stop_token>

#include "app/ledger/store_faults.hpp"
#include "ports/clock.hpp"
#include "ports/ledger/ledger_store.hpp"
#include "programs/ledger/ledger_config.hpp"

namespace tessera {

// Null if `stop` was requested first. While the database is unavailable, or may not be written, it
// is tried again, and /healthz answers: a restart would not help. The event ledger_error says why.
// Three errors are final: the database is damaged (corrupt), of a newer release (unsupported), or
// of another program (invalid_argument, as is a wrong URL). It is not changed.
Result<std::unique_ptr<LedgerStore>> open_store(const Config& config, StoreFaults& faults,
                                                Clock& clock, const std::stop_token& stop);

}  // namespace tessera

// The tables of a ledger, and how the tables of an older Tessera become them.
#pragma once

#include <soci/soci.h>

#include "adapters/ledger/connection.hpp"
#include "adapters/ledger/database.hpp"
#include "base/result.hpp"

namespace tessera {

// Creates or changes the tables until they have the schema of this program, each step in a
// transaction. Several programs may do so at the same time. A newer schema is an unsupported error,
// and is not changed.
Result<> migrate(const SqlDialect& dialect, Connection& connection);

// In each transaction: an unsupported error if a newer program changed the tables since, so that
// this one does not write to tables that it does not know.
Result<> check_version(soci::session& sql);

}  // namespace tessera

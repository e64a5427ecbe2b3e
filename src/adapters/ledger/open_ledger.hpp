// The ledger's store in an SQL database: SQLite in a file, or PostgreSQL. Both have one schema.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// Programs use the defaults.
struct LedgerLimits {
    // The most pages of 4096 bytes that SQLite's file may have; 0: as many as the disk has.
    std::int64_t pages = 0;
    // Rows that one transaction of roll_up or remove_before changes; the last share or hour of it
    // may add to them.
    std::int64_t rows = 5000;
    // The longest waits of a call: for calls of the same store, for other programs' transactions,
    // and for PostgreSQL's answer to a transaction.
    std::chrono::milliseconds turn{30'000};
    std::chrono::milliseconds lock{10'000};
    std::chrono::milliseconds transaction{90'000};
};

// Creates the file if there is none; its folder must exist. An existing file is checked, which
// reads all of it. Several stores and processes of one machine may have a file open at the same
// time. The file must not be on a network file system (https://www.sqlite.org/wal.html).
//
// Errors; the file is not changed then:
// - invalid_argument: the file is a database of another program.
// - corrupt: it is damaged, no database, or missing beside a -wal file.
// - unsupported: a newer Tessera wrote it.
// - permission_denied: it cannot be written.
// - unavailable: it cannot be opened.
Result<std::unique_ptr<LedgerStore>> open_sqlite_ledger(const std::filesystem::path& file,
                                                        LedgerLimits limits = {});

// `url` is such as postgresql://USER@HOST/DATABASE?sslmode=verify-full&passfile=FILE, with any
// parameter of libpq. The user must be allowed to create tables in the database. Several stores
// may use one database at the same time. No error text contains the URL, which may have a password.
//
// Errors:
// - invalid_argument: it is no such URL, or can mean another one than its author thinks.
// - unavailable: the server does not answer, does not accept the user, or is a standby.
// - permission_denied: the user may not create tables.
// - unsupported: a newer Tessera created the tables, which are not changed.
Result<std::unique_ptr<LedgerStore>> open_postgresql_ledger(const std::string& url,
                                                            LedgerLimits limits = {});

}  // namespace tessera

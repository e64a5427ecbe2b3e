// The ledger's store in an SQL database: SQLite in a file, or PostgreSQL. Both have one schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// The most pages of 4096 bytes that the file may have; 0: as many as the disk has.
struct SqliteLimit {
    std::int64_t pages = 0;
};

// Creates the file if there is none; its folder must exist. An existing file is checked, which
// reads all of it. Several stores and processes of one machine may have a file open at the same
// time. The file must not be on a network file system (https://www.sqlite.org/wal.html).
//
// Errors: invalid_argument if the file is a database of another program; corrupt if it is damaged
// or no database; unsupported if a newer Tessera wrote it; permission_denied if it cannot be
// written; unavailable if it cannot be opened. The file is not changed then.
Result<std::unique_ptr<LedgerStore>> open_sqlite_ledger(const std::filesystem::path& file,
                                                        SqliteLimit limit = {});

// `url` is such as postgresql://USER@HOST/DATABASE?sslmode=verify-full&passfile=FILE, with any
// parameter of libpq. The user must be allowed to create tables in the database. Several stores
// may use one database at the same time. No error text contains the URL, which may have a password.
//
// Errors: invalid_argument if it is no such URL; unavailable if the server does not answer or does
// not accept the user; unsupported if a newer Tessera created the tables, which are not changed.
Result<std::unique_ptr<LedgerStore>> open_postgresql_ledger(const std::string& url);

}  // namespace tessera

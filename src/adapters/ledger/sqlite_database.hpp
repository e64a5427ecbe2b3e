// A ledger in a file of SQLite.
#pragma once

#include <filesystem>
#include <memory>

#include "adapters/ledger/database.hpp"

namespace tessera {

class SqliteDatabase : public Database {
  public:
    // Refuses a file that is no ledger, and leaves it untouched. Creates the file if there is none.
    static Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& file,
                                                        LedgerLimits limits);

    [[nodiscard]] const SqlDialect& dialect() const override;
    // Never creates a file: if the ledger's file was removed, a new one would be empty.
    [[nodiscard]] Result<std::unique_ptr<soci::session>> connect() const override;
    // 0 if the file was removed.
    [[nodiscard]] std::uint64_t identity() const override;
    [[nodiscard]] Error explain(const soci::soci_error& error) const override;
    [[nodiscard]] bool is_lost(const soci::soci_error&) const override { return false; }
    [[nodiscard]] std::optional<Watchdog::Watch> watch(soci::session&) const override {
        return std::nullopt;
    }

    SqliteDatabase(std::filesystem::path file, LedgerLimits limits)
        : Database(limits), file_(std::move(file)) {}

  private:
    // Whether there is a ledger (true) or no file yet (false).
    [[nodiscard]] Result<bool> check_file() const;
    // False, or an error if the file should be there.
    [[nodiscard]] Result<bool> no_file() const;
    [[nodiscard]] Result<std::unique_ptr<soci::session>> session() const;
    [[nodiscard]] Result<> create() const;
    [[nodiscard]] Result<> check_pages() const;

    std::filesystem::path file_;
};

}  // namespace tessera

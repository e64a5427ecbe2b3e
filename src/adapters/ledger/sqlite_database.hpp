// A ledger in a file of SQLite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "adapters/ledger/database.hpp"

namespace tessera {

class SqliteDatabase : public Database {
  public:
    // Refuses a file that is no ledger, and leaves it untouched. Creates the file if there is none.
    // The file has at most `most_pages` pages; 0 is no limit. Throws soci_error.
    static Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& file,
                                                        std::int64_t most_pages);

    [[nodiscard]] const SqlDialect& dialect() const override;
    // Never creates a file: if the ledger's file was removed, a new one would be empty.
    [[nodiscard]] Result<std::unique_ptr<soci::session>> connect() const override;
    [[nodiscard]] Error explain(const soci::soci_error& error) const override;

    SqliteDatabase(std::filesystem::path file, std::int64_t most_pages)
        : file_(std::move(file)), most_pages_(most_pages) {}

  private:
    // Whether there is a ledger (true) or no file yet (false).
    [[nodiscard]] Result<bool> check_file() const;
    // False, or an error if the file should be there.
    [[nodiscard]] Result<bool> no_file() const;
    [[nodiscard]] Result<std::unique_ptr<soci::session>> session() const;
    [[nodiscard]] Result<> create() const;
    [[nodiscard]] Result<> check_pages() const;

    std::filesystem::path file_;
    std::int64_t most_pages_ = 0;
};

}  // namespace tessera

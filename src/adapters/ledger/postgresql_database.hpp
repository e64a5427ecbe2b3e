// A ledger in a database of a PostgreSQL server.
#pragma once

#include <memory>
#include <string>

#include "adapters/ledger/database.hpp"
#include "adapters/ledger/watchdog.hpp"

namespace tessera {

class PostgresqlDatabase : public Database {
  public:
    // Does not connect.
    static Result<std::unique_ptr<PostgresqlDatabase>> of(const std::string& url,
                                                          LedgerLimits limits);

    [[nodiscard]] const SqlDialect& dialect() const override;
    [[nodiscard]] Result<std::unique_ptr<soci::session>> connect() const override;
    [[nodiscard]] std::uint64_t identity() const override { return 0; }
    [[nodiscard]] Error explain(const soci::soci_error& error) const override;

    [[nodiscard]] bool is_lost(const soci::soci_error& error) const override;
    [[nodiscard]] std::optional<Watchdog::Watch> watch(soci::session& session) const override;

    // `url` with the timeouts of a connection.
    PostgresqlDatabase(std::string url, LedgerLimits limits)
        : Database(limits), url_(std::move(url)), watchdog_(limits.transaction) {}

  private:
    const std::string url_;
    mutable Watchdog watchdog_;
};

}  // namespace tessera

// A ledger in a database of a PostgreSQL server.
#pragma once

#include <memory>
#include <string>

#include "adapters/ledger/database.hpp"

namespace tessera {

class PostgresqlDatabase : public Database {
  public:
    // Does not connect.
    static Result<std::unique_ptr<PostgresqlDatabase>> of(const std::string& url);

    [[nodiscard]] const SqlDialect& dialect() const override;
    [[nodiscard]] Result<std::unique_ptr<soci::session>> connect() const override;
    [[nodiscard]] Error explain(const soci::soci_error& error) const override;

    // `url` with the timeouts of a connection.
    explicit PostgresqlDatabase(std::string url) : url_(std::move(url)) {}

  private:
    std::string url_;
};

}  // namespace tessera

// What differs between the databases that the ledger's store can use.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/ledger/open_ledger.hpp"
#include "adapters/ledger/watchdog.hpp"
#include "base/result.hpp"

namespace tessera {

// Statements are constants of this program, and numbers; texts are always bound.
struct SqlDialect {
    std::string_view begin_read;   // a transaction which sees one state
    std::string_view begin_write;  // a transaction which sees all that others committed before
    // In a transaction that writes: waits until no other has the lock. Empty if begin_write does.
    std::string_view lock;
    // Selects the number of tables with the name :name.
    std::string_view count_tables;
    std::string_view id_column;  // the type of a column that numbers its rows
    // The end of a CREATE TABLE whose rows are stored in the order of the primary key.
    std::string_view in_key_order;
};

// Any thread may call.
class Database {
  public:
    explicit Database(LedgerLimits limits) : limits_(limits) {}
    virtual ~Database() = default;

    [[nodiscard]] const LedgerLimits& limits() const { return limits_; }
    [[nodiscard]] virtual const SqlDialect& dialect() const = 0;
    // A session that is ready for transactions. Errors as of open_ledger.hpp; it also throws
    // soci_error.
    [[nodiscard]] virtual Result<std::unique_ptr<soci::session>> connect() const = 0;
    // Another number if another database is in its place now. A session would go on with the old
    // one.
    [[nodiscard]] virtual std::uint64_t identity() const = 0;
    // The error that a caller of the store gets.
    [[nodiscard]] virtual Error explain(const soci::soci_error& error) const = 0;
    // Whether the session has no server any more, so that a new one may succeed.
    [[nodiscard]] virtual bool is_lost(const soci::soci_error& error) const = 0;
    // While the result exists, a statement of the session that waits longer than
    // LedgerLimits::transaction throws an error. Nothing if the database cannot hang.
    [[nodiscard]] virtual std::optional<Watchdog::Watch> watch(soci::session& session) const = 0;

  private:
    const LedgerLimits limits_;
};

// The message of a library in one line, without the statement and its values.
std::string one_line(const soci::soci_error& error);

}  // namespace tessera

// What differs between the databases that the ledger's store can use.
#pragma once

#include <soci/soci.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// Statements are constants of this program; values are always bound.
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
    virtual ~Database() = default;

    [[nodiscard]] virtual const SqlDialect& dialect() const = 0;
    // A session that is ready for transactions. Errors as of open_ledger.hpp; it also throws
    // soci_error.
    [[nodiscard]] virtual Result<std::unique_ptr<soci::session>> connect() const = 0;
    // The error that a caller of the store gets.
    [[nodiscard]] virtual Error explain(const soci::soci_error& error) const = 0;
};

// The message of a library in one line, without the statement and its values.
std::string one_line(const soci::soci_error& error);

}  // namespace tessera

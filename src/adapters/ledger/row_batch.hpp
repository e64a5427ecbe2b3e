// Many rows in few statements: PostgreSQL needs a round trip for each of them.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

using RowValue = std::variant<std::int64_t, std::string>;
using RowValues = std::vector<RowValue>;

// `bind` gives a statement its values, and says where the columns of an answer go. `visit` is
// called with each row of the answer there.
struct RowReader {
    std::function<void(soci::statement&)> bind;
    std::function<void()> visit;
};

// Runs a statement once. PostgreSQL does not prepare it, which would be two more round trips. All
// functions throw soci_error.
void query(soci::session& sql, const std::string& statement, const RowReader& reader);

// Runs a statement with some hundred rows at a time. Its {rows} becomes the rows, as VALUES writes
// them: (1, :v0), (2, :v1). Numbers are in the statement, and texts are bound to it. Without rows
// nothing is run.
void execute_rows(soci::session& sql, std::string_view statement, std::span<const RowValues> rows);
void query_rows(soci::session& sql, std::string_view statement, std::span<const RowValues> rows,
                const RowReader& reader);

}  // namespace tessera

#include "adapters/ledger/row_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

// With more, SQLite takes longer for each, because it searches all names of values for each value.
constexpr std::size_t kRowsAtATime = 100;

// The casts are for PostgreSQL, which does not know yet what the values are for.
std::string with_rows(std::string_view statement, std::span<const RowValues> rows) {
    std::string text;
    std::size_t texts = 0;
    for (const RowValues& row : rows) {
        text += text.empty() ? "(" : ", (";
        const char* comma = "";
        for (const RowValue& value : row) {
            text += comma;
            comma = ", ";
            if (const auto* const number = std::get_if<std::int64_t>(&value)) {
                text += std::to_string(*number);
            } else {
                text += fmt::format("CAST(:v{} AS TEXT)", texts++);
            }
        }
        text += ")";
    }
    return fmt::format(fmt::runtime(statement), fmt::arg("rows", text));
}

}  // namespace

void query(soci::session& sql, const std::string& statement, const RowReader& reader) {
    soci::statement prepared(sql);
    prepared.alloc();
    if (reader.bind) reader.bind(prepared);
    prepared.prepare(statement, soci::details::st_one_time_query);
    prepared.define_and_bind();
    if (!reader.visit) {
        prepared.execute(true);
        return;
    }
    prepared.execute();
    while (prepared.fetch())
        reader.visit();
}

void query_rows(soci::session& sql, std::string_view statement, std::span<const RowValues> rows,
                const RowReader& reader) {
    while (!rows.empty()) {
        const auto some = rows.first(std::min(rows.size(), kRowsAtATime));
        const auto bind = [&](soci::statement& prepared) {
            for (const RowValues& row : some) {
                for (const RowValue& value : row) {
                    if (const auto* const text = std::get_if<std::string>(&value))
                        prepared.exchange(soci::use(*text));
                }
            }
            if (reader.bind) reader.bind(prepared);
        };
        query(sql, with_rows(statement, some), {.bind = bind, .visit = reader.visit});
        rows = rows.subspan(some.size());
    }
}

void execute_rows(soci::session& sql, std::string_view statement, std::span<const RowValues> rows) {
    query_rows(sql, statement, rows, {});
}

}  // namespace tessera

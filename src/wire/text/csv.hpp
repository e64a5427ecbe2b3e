// Comma-separated tables with a first line of column names. Quotes are not supported: the tables
// that we read have none, and a table with quotes is refused.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Holds views into the text that was read, which must outlive it.
class CsvTable {
  public:
    // invalid_argument, naming the line, if a row has another number of fields than there are
    // columns, or has a quote, or if two columns have one name. Lines end with "\n" or "\r\n";
    // empty lines are skipped. If `columns` ("a,b,c") is given and the first line does not begin
    // with the first of them, the table has no line of names and those are its columns.
    static Result<CsvTable> read(std::string_view text, std::string_view columns = {});

    [[nodiscard]] std::size_t size() const { return lines_.size(); }
    [[nodiscard]] bool has(std::string_view column) const;
    // invalid_argument, naming the missing column and those that exist.
    [[nodiscard]] Result<std::size_t> column(std::string_view name) const;
    // Several columns at once, in the order of the names.
    template <std::convertible_to<std::string_view>... Names>
    [[nodiscard]] Result<std::array<std::size_t, sizeof...(Names)>> columns(Names... names) const {
        std::array<std::size_t, sizeof...(Names)> found{};
        std::size_t at = 0;
        for (const std::string_view name : {std::string_view(names)...}) {
            TRY(found.at(at++), column(name));
        }
        return found;
    }

    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
        return fields_[row * columns_.size() + column];
    }
    // The line of the row, from 1.
    [[nodiscard]] std::size_t line(std::size_t row) const { return lines_[row]; }
    // A whole number from 0 to `most`, in decimal digits; otherwise invalid_argument, naming line
    // and column.
    [[nodiscard]] Result<std::int64_t> number(std::size_t row, std::size_t column,
                                              std::int64_t most) const;
    // A decimal number of at least 0 ("29.5") times `scale`, rounded up to a whole number of at
    // most `most`; otherwise invalid_argument. `scale` is at most a million.
    [[nodiscard]] Result<std::int64_t> decimal(std::size_t row, std::size_t column,
                                               std::int64_t scale, std::int64_t most) const;
    // A whole number, also in the form that some tables use ("2", "2.0"); otherwise
    // invalid_argument.
    [[nodiscard]] Result<std::int64_t> whole(std::size_t row, std::size_t column,
                                             std::int64_t most) const;
    // An error about a field: line and column, then `what`.
    [[nodiscard]] Error fault(std::size_t row, std::size_t column, std::string_view what) const;

  private:
    std::vector<std::string_view> columns_;
    std::vector<std::string_view> fields_;  // row by row
    std::vector<std::size_t> lines_;        // per row, from 1
};

// Removes the first line from `text` and returns it without its line end.
std::string_view take_line(std::string_view& text);

// Accepts only decimal digits and values of at most `most`.
bool parse_whole(std::string_view text, std::int64_t most, std::int64_t& value);

}  // namespace tessera

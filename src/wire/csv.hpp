// Comma-separated tables with a first line of column names. No quotes: the tables that we read have
// none, and one that has some is refused, not misread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Views into the text that was read, which must outlive it.
class CsvTable {
  public:
    // invalid_argument, naming the line, where a row has another number of fields than there are
    // columns, or a quote, or where two columns have one name. Lines end with "\n" or "\r\n"; empty
    // ones are left out. Where `columns` are given ("a,b,c") and the first line does not begin with
    // the first of them, the table has no first line of names, and those are its columns.
    static Result<CsvTable> read(std::string_view text, std::string_view columns = {});

    [[nodiscard]] std::size_t size() const { return lines_.size(); }
    [[nodiscard]] bool has(std::string_view column) const;
    // invalid_argument, naming the column and those that there are.
    [[nodiscard]] Result<std::size_t> column(std::string_view name) const;

    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
        return fields_[row * columns_.size() + column];
    }
    // On which the row stands, from 1.
    [[nodiscard]] std::size_t line(std::size_t row) const { return lines_[row]; }
    // A whole number from 0 to `most`, in decimal digits; else invalid_argument, naming line and
    // column.
    [[nodiscard]] Result<std::int64_t> number(std::size_t row, std::size_t column,
                                              std::int64_t most) const;
    // A decimal number of at least 0 ("29.5") times `scale`, rounded up to a whole one, which is at
    // most `most`; else invalid_argument. `scale` is at most a million.
    [[nodiscard]] Result<std::int64_t> decimal(std::size_t row, std::size_t column,
                                               std::int64_t scale, std::int64_t most) const;
    // A whole number as some tables write it ("2", "2.0"); else invalid_argument.
    [[nodiscard]] Result<std::int64_t> whole(std::size_t row, std::size_t column,
                                             std::int64_t most) const;
    // An error about a field: `what` with line and column in front.
    [[nodiscard]] Error fault(std::size_t row, std::size_t column, std::string_view what) const;

  private:
    std::vector<std::string_view> columns_;
    std::vector<std::string_view> fields_;  // row after row
    std::vector<std::size_t> lines_;        // per row, from 1
};

// Cuts the first line off `text`, without its end.
std::string_view take_line(std::string_view& text);

// Nothing but decimal digits, and at most `most`.
bool parse_whole(std::string_view text, std::int64_t most, std::int64_t& value);

}  // namespace tessera

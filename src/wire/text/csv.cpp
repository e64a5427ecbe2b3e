#include "wire/text/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "wire/text/byte_order_mark.hpp"

namespace tessera {
namespace {

void split(std::string_view line, std::vector<std::string_view>& into) {
    while (true) {
        const std::size_t comma = line.find(',');
        into.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return;
        line.remove_prefix(comma + 1);
    }
}

// If two columns have one name, it is unclear which one is meant. Columns without a name are never
// read.
Result<> check_once(std::vector<std::string_view> columns) {
    std::ranges::sort(columns);
    std::string_view before;
    for (const std::string_view column : columns) {
        if (!column.empty() && column == before) {
            return fail(Code::invalid_argument,
                        fmt::format("line 1: there are two columns {}; leave one out", column));
        }
        before = column;
    }
    return {};
}

}  // namespace

std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

bool parse_whole(std::string_view text, std::int64_t most, std::int64_t& value) {
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && stopped == text.data() + text.size() && value >= 0 &&
           value <= most && text.front() != '-';
}

Result<CsvTable> CsvTable::read(std::string_view text, std::string_view columns) {
    CsvTable table;
    text = without_byte_order_mark(text);
    if (!columns.empty() && !text.starts_with(columns.substr(0, columns.find(',') + 1)))
        split(columns, table.columns_);
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = take_line(text);
        if (line.empty()) continue;
        if (line.find('"') != std::string_view::npos) {
            return fail(Code::invalid_argument,
                        fmt::format("line {}: the line has a quote; write the table without quotes",
                                    number));
        }
        if (table.columns_.empty()) {
            split(line, table.columns_);
            TRY_VOID(check_once(table.columns_));
            continue;
        }
        const std::size_t before = table.fields_.size();
        split(line, table.fields_);
        table.lines_.push_back(number);
        if (const std::size_t found = table.fields_.size() - before;
            found != table.columns_.size()) {
            return fail(Code::invalid_argument,
                        fmt::format("line {}: {} fields where the first line names {} columns",
                                    number, found, table.columns_.size()));
        }
    }
    if (table.columns_.empty())
        return fail(Code::invalid_argument, "the first line, with the columns' names, is missing");
    return table;
}

bool CsvTable::has(std::string_view column) const {
    return std::ranges::find(columns_, column) != columns_.end();
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end()) {
        return fail(Code::invalid_argument, fmt::format("line 1: no column {}; there is {}", name,
                                                        fmt::join(columns_, ", ")));
    }
    return static_cast<std::size_t>(found - columns_.begin());
}

Result<std::int64_t> CsvTable::number(std::size_t row, std::size_t column,
                                      std::int64_t most) const {
    std::int64_t value = 0;
    if (parse_whole(text(row, column), most, value)) return value;
    return fail(
        fault(row, column,
              fmt::format("\"{}\" is not a whole number from 0 to {}", text(row, column), most)));
}

Result<std::int64_t> CsvTable::decimal(std::size_t row, std::size_t column, std::int64_t scale,
                                       std::int64_t most) const {
    constexpr std::size_t kMostDigits = 9;
    const std::string_view number = text(row, column);
    const std::size_t point = std::min(number.find('.'), number.size());
    const std::string_view fraction = number.substr(std::min(point + 1, number.size()));
    std::int64_t whole = 0;
    std::int64_t parts = 0;
    std::int64_t unit = 1;
    bool is_read = parse_whole(number.substr(0, point), most / scale, whole);
    if (point < number.size()) {
        const std::string_view digits = fraction.substr(0, kMostDigits);
        for (std::size_t i = 0; i < digits.size(); ++i)
            unit *= 10;
        is_read =
            is_read && parse_whole(digits, unit, parts) && std::ranges::all_of(fraction, is_digit);
    }
    // If the number could not be read, the value is out of range.
    const std::int64_t value =
        is_read ? whole * scale + (parts * scale + unit - 1) / unit : most + 1;
    if (value <= most) return value;
    return fail(
        fault(row, column,
              fmt::format("\"{}\" is not a decimal number from 0 to {}", number, most / scale)));
}

Result<std::int64_t> CsvTable::whole(std::size_t row, std::size_t column, std::int64_t most) const {
    const std::string_view number = text(row, column);
    const std::size_t point = number.find('.');
    std::int64_t value = 0;
    const bool has_parts = point != std::string_view::npos &&
                           number.find_first_not_of('0', point + 1) != std::string_view::npos;
    if (!has_parts && parse_whole(number.substr(0, point), most, value)) return value;
    return fail(
        fault(row, column, fmt::format("\"{}\" is not a whole number from 0 to {}", number, most)));
}

Error CsvTable::fault(std::size_t row, std::size_t column, std::string_view what) const {
    return {Code::invalid_argument,
            fmt::format("line {}, column {}: {}", lines_[row], columns_[column], what)};
}

}  // namespace tessera

// The table of records: rows of one share in one hour.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <vector>

#include "adapters/ledger/row_ids.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

// In the hours of the tables.
constexpr std::int64_t hour_of(std::int64_t unix_s) {
    return unix_s / kRollUpSeconds;
}
constexpr std::int64_t start_of(std::int64_t hour) {
    return hour * kRollUpSeconds;
}

struct RecordRow {
    RowId ns = 0;
    std::int64_t hour = 0;
    RowId share = 0;
    std::int64_t from_second = 0;
    std::int64_t to_second = 0;
    RowId shape = 0;

    [[nodiscard]] Window time() const {
        return {start_of(hour) + from_second, start_of(hour) + to_second};
    }
};

// The record of a row but for its identity and names. `shape` is the row's.
UsageRecord record_of(const RecordRow& row, const UsageShape& shape);

// Prepared statements of one transaction, which end before it. They are bound to members, so the
// object stays where it is. Functions throw soci_error.
class RecordRows {
  public:
    explicit RecordRows(soci::session& sql);
    RecordRows(const RecordRows&) = delete;
    RecordRows& operator=(const RecordRows&) = delete;

    // The rows of a share in its hour that have a second of [from_second, to_second), which
    // `where` gives, in the order of time.
    std::vector<RecordRow> find(const RecordRow& where);
    void insert(const RecordRow& row);
    void remove(const RecordRow& row);

  private:
    RecordRow row_;
    RecordRow found_;
    soci::statement find_;
    soci::statement insert_;
    soci::statement remove_;
};

}  // namespace tessera

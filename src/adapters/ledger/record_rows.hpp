// Rows of the tables, as the rest of the store has them.
#pragma once

#include <soci/soci.h>

#include <cstdint>

#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

using RowId = std::int64_t;

// In the hours of the tables.
constexpr std::int64_t hour_of(std::int64_t unix_s) {
    return unix_s / kRollUpSeconds;
}
constexpr std::int64_t start_of(std::int64_t hour) {
    return hour * kRollUpSeconds;
}

// Of usage_records.
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

// Of shapes. The object stays where it is while a statement uses it.
class ShapeRow {
  public:
    // kColumns are those of the table with the name s, which kJoin joins to one with shape_id.
    static constexpr const char* kColumns = "s.model, s.memory, s.capacity, s.compute, s.whole";
    static constexpr const char* kJoin = "JOIN shapes s ON s.id = shape_id";
    void bind(soci::statement& statement);
    [[nodiscard]] const UsageShape& get();

  private:
    UsageShape shape_;
    std::int64_t compute_ = 0;
    std::int64_t whole_ = 0;
};

// The other fields of `record` stay as they are.
void set_shape(UsageRecord& record, const UsageShape& shape);

}  // namespace tessera

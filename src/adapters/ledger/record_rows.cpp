#include "adapters/ledger/record_rows.hpp"

namespace tessera {

void ShapeRow::bind(soci::statement& statement) {
    statement.exchange(soci::into(shape_.model));
    statement.exchange(soci::into(shape_.memory.count));
    statement.exchange(soci::into(shape_.capacity.count));
    statement.exchange(soci::into(compute_));
    statement.exchange(soci::into(whole_));
}

const UsageShape& ShapeRow::get() {
    shape_.compute = {static_cast<int>(compute_)};
    shape_.whole = whole_ != 0;
    return shape_;
}

void set_shape(UsageRecord& record, const UsageShape& shape) {
    record.model = shape.model;
    record.memory = shape.memory;
    record.capacity = shape.capacity;
    record.compute = shape.compute;
    record.whole = shape.whole;
}

}  // namespace tessera

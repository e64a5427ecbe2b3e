#include "domain/budget/usage_sum.hpp"

namespace tessera {

UsageShape shape_of(const UsageRecord& record) {
    return {.model = record.model,
            .memory = record.memory,
            .capacity = record.capacity,
            .compute = record.compute,
            .whole = record.whole};
}

}  // namespace tessera

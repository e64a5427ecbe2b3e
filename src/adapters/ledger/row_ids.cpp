#include "adapters/ledger/row_ids.hpp"

namespace tessera {

std::optional<RowId> RowIds::find_namespace(const std::string& name) {
    if (const auto at = namespaces_.find(name); at != namespaces_.end()) return at->second;
    RowId id = 0;
    sql_ << "SELECT id FROM namespaces WHERE name = :name", soci::use(name, "name"), soci::into(id);
    if (!sql_.got_data()) return std::nullopt;
    namespaces_.emplace(name, id);
    return id;
}

RowId RowIds::find_or_add_namespace(const std::string& name) {
    if (const auto found = find_namespace(name)) return *found;
    RowId id = 0;
    sql_ << "INSERT INTO namespaces (name) VALUES (:name) RETURNING id", soci::use(name, "name"),
        soci::into(id);
    namespaces_.emplace(name, id);
    return id;
}

RowId RowIds::find_or_add_shape(const UsageShape& shape) {
    if (const auto at = shapes_.find(shape); at != shapes_.end()) return at->second;
    const std::int64_t compute = shape.compute.value;
    const std::int64_t whole = shape.whole ? 1 : 0;
    RowId id = 0;
    sql_ << "SELECT id FROM shapes WHERE model = :model AND memory = :memory AND "
            "capacity = :capacity AND compute = :compute AND whole = :whole",
        soci::use(shape.model, "model"), soci::use(shape.memory.count, "memory"),
        soci::use(shape.capacity.count, "capacity"), soci::use(compute, "compute"),
        soci::use(whole, "whole"), soci::into(id);
    if (!sql_.got_data()) {
        sql_ << "INSERT INTO shapes (model, memory, capacity, compute, whole) "
                "VALUES (:model, :memory, :capacity, :compute, :whole) RETURNING id",
            soci::use(shape.model, "model"), soci::use(shape.memory.count, "memory"),
            soci::use(shape.capacity.count, "capacity"), soci::use(compute, "compute"),
            soci::use(whole, "whole"), soci::into(id);
    }
    shapes_.emplace(shape, id);
    shapes_by_id_.emplace(id, shape);
    return id;
}

const UsageShape& RowIds::shape(RowId id) {
    if (const auto at = shapes_by_id_.find(id); at != shapes_by_id_.end()) return at->second;
    UsageShape shape;
    std::int64_t compute = 0;
    std::int64_t whole = 0;
    sql_ << "SELECT model, memory, capacity, compute, whole FROM shapes WHERE id = :id",
        soci::use(id, "id"), soci::into(shape.model), soci::into(shape.memory.count),
        soci::into(shape.capacity.count), soci::into(compute), soci::into(whole);
    shape.compute = {static_cast<int>(compute)};
    shape.whole = whole != 0;
    shapes_.emplace(shape, id);
    return shapes_by_id_.emplace(id, shape).first->second;
}

}  // namespace tessera

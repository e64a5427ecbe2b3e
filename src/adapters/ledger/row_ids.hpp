// The numbers that rows of records have for a namespace and a shape.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/budget/usage_sum.hpp"

namespace tessera {

using RowId = std::int64_t;

// Within one transaction. Functions throw soci_error.
class RowIds {
  public:
    // `sql` outlives it.
    explicit RowIds(soci::session& sql) : sql_(sql) {}

    std::optional<RowId> find_namespace(const std::string& name);
    RowId find_or_add_namespace(const std::string& name);
    RowId find_or_add_shape(const UsageShape& shape);
    // A reference is valid as long as this object.
    const UsageShape& shape(RowId id);

  private:
    soci::session& sql_;
    std::map<std::string, RowId> namespaces_;
    std::map<UsageShape, RowId> shapes_;
    std::map<RowId, UsageShape> shapes_by_id_;
};

}  // namespace tessera

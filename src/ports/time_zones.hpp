// The time zones of the IANA database.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "domain/budget/zone_rules.hpp"

namespace tessera {

// Any thread may call.
class TimeZones {
  public:
    virtual ~TimeZones() = default;

    // A zone by its name, such as "Europe/Berlin" or "UTC". Errors: invalid_argument if there is no
    // zone of this name; unavailable if the database cannot be read.
    [[nodiscard]] virtual Result<ZoneRules> find(std::string_view name) const = 0;
};

}  // namespace tessera

// Time zones from /usr/share/zoneinfo (Debian's package tzdata), by Howard Hinnant's date library.
#pragma once

#include "ports/time_zones.hpp"

namespace tessera {

// The files are read at the first call for a zone, and then kept: a newer tzdata counts after a
// restart. Debian's files list changes of clocks until 2037. From then on a zone keeps the last
// offset that they list.
class TzdbTimeZones : public TimeZones {
  public:
    [[nodiscard]] Result<ZoneRules> find(std::string_view name) const override;
};

}  // namespace tessera

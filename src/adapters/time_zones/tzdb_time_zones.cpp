#include "adapters/time_zones/tzdb_time_zones.hpp"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "domain/budget/usage_record.hpp"

namespace tessera {
namespace {

// Also a zone for the library: that of this machine, which differs between controllers.
constexpr std::string_view kMachinesZone = "localtime";

tl::unexpected<Error> unknown_zone(std::string_view name) {
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is no time zone of the IANA database; write such as "
                            "Europe/Berlin or UTC",
                            name.substr(0, 64)));
}

ZoneRules rules_of(const date::time_zone& zone, std::string_view name) {
    ZoneRules rules{.name = std::string(name), .transitions = {}};
    for (std::int64_t unix_s = 0; unix_s < kEndOfTime;) {
        const date::sys_info info = zone.get_info(date::sys_seconds{std::chrono::seconds{unix_s}});
        rules.transitions.push_back({info.begin.time_since_epoch().count(), info.offset.count()});
        unix_s = std::max<std::int64_t>(unix_s + 1, info.end.time_since_epoch().count());
    }
    return rules;
}

}  // namespace

Result<ZoneRules> TzdbTimeZones::find(std::string_view name) const {
    try {
        // The list of names. It throws where there are no files.
        const auto& zones = date::get_tzdb().zones;
        const auto zone = std::ranges::find(zones, name, &date::time_zone::name);
        if (zone == zones.end() || name == kMachinesZone) return unknown_zone(name);
        return rules_of(*zone, name);
    } catch (const std::exception& error) {
        return fail(Code::unavailable,
                    fmt::format("the time zone database cannot be read: {}; install tzdata, which "
                                "has /usr/share/zoneinfo",
                                error.what()));
    }
}

}  // namespace tessera

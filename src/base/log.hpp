// Named events with fields, one JSON line each on stderr. Any thread may log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tessera {

enum class Event {
#define EVENT(name, level, meaning) name,
#include "base/events.def"
#undef EVENT
};

inline constexpr std::size_t kEventCount = 0
#define EVENT(name, level, meaning) +1
#include "base/events.def"
#undef EVENT
    ;

enum class LogLevel { info, warning, error };

struct LogField {
    LogField(std::string_view field_name, std::string_view field_value)
        : name(field_name), text(field_value) {}
    LogField(std::string_view field_name, const char* field_value)
        : name(field_name), text(field_value) {}
    LogField(std::string_view field_name, const std::string& field_value)
        : name(field_name), text(field_value) {}
    LogField(std::string_view field_name, std::int64_t field_value)
        : name(field_name), text(std::to_string(field_value)), number(true) {}
    LogField(std::string_view field_name, int field_value)
        : LogField(field_name, std::int64_t{field_value}) {}

    std::string_view name;
    std::string text;
    bool number = false;
};

void log_event(Event event, std::initializer_list<LogField> fields = {});

// Redirects what this thread logs from stderr to a sink, until it is set to nothing. For tests that
// run several programs in one process (testing/simulation).
using LogSink = std::function<void(Event, std::initializer_list<LogField>)>;
void set_log_sink(LogSink sink);

// How often this process has logged the event so far (metric tessera_events_total).
std::uint64_t event_count(Event event);

std::string_view event_name(Event event);
LogLevel event_level(Event event);
std::string_view level_name(LogLevel level);

// The line that log_event writes, for a time in nanoseconds since 1970 (UTC).
std::string log_line(Event event, std::initializer_list<LogField> fields, std::int64_t unix_ns);

}  // namespace tessera

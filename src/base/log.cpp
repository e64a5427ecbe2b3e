#include "base/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <utility>

namespace tessera {
namespace {

struct Row {
    std::string_view name;
    LogLevel level;
};

constexpr auto kRows = std::to_array<Row>({
#define EVENT(name, level, meaning) {#name, LogLevel::level},
#include "base/events.def"
#undef EVENT
});

static_assert(kRows.size() == kEventCount);

std::array<std::atomic<std::uint64_t>, kEventCount> counts;

thread_local LogSink sink_of_thread;

constexpr std::array<std::string_view, 3> kLevels = {"info", "warning", "error"};

// base knows no JSON library; this is the one string rule that a log line needs.
void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace

std::string_view event_name(Event event) {
    return kRows.at(static_cast<std::size_t>(event)).name;
}
LogLevel event_level(Event event) {
    return kRows.at(static_cast<std::size_t>(event)).level;
}

std::string log_line(Event event, std::initializer_list<LogField> fields, std::int64_t unix_ns) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    const std::time_t seconds = unix_ns / kNsPerSecond;
    const std::int64_t millis = unix_ns % kNsPerSecond / 1'000'000;
    std::string line = fmt::format(
        R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z","level":"{}","event":"{}")", fmt::gmtime(seconds),
        millis, kLevels.at(static_cast<std::size_t>(event_level(event))), event_name(event));
    for (const LogField& field : fields) {
        line += ',';
        append_quoted(line, field.name);
        line += ':';
        if (field.number) {
            line += field.text;
        } else {
            append_quoted(line, field.text);
        }
    }
    line += "}\n";
    return line;
}

std::uint64_t event_count(Event event) {
    return counts.at(static_cast<std::size_t>(event)).load(std::memory_order_relaxed);
}

std::string_view level_name(LogLevel level) {
    return kLevels.at(static_cast<std::size_t>(level));
}

void set_log_sink(LogSink sink) {
    sink_of_thread = std::move(sink);
}

void log_event(Event event, std::initializer_list<LogField> fields) {
    counts.at(static_cast<std::size_t>(event)).fetch_add(1, std::memory_order_relaxed);
    if (sink_of_thread) return sink_of_thread(event, fields);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string line =
        log_line(event, fields, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    // One write per line, so that the lines of several threads never mix. A write error is ignored:
    // there is nothing to do if stderr is gone.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tessera

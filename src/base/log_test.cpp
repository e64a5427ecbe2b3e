#include "base/log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kNoon = 1'795'262'400'123'456'789;  // 2026-11-21T12:00:00.123 UTC

// Goal: one line of JSON: time, level, event, then the fields in order. Numbers are JSON numbers.
TEST(Log, LineHasTimeLevelEventAndFields) {
    EXPECT_EQ(log_line(Event::pod_bound, {{"pod", "team-a/p"}, {"gpus", 2}}, kNoon),
              R"({"time":"2026-11-21T12:00:00.123Z","level":"info","event":"pod_bound",)"
              R"("pod":"team-a/p","gpus":2})"
              "\n");
    EXPECT_EQ(log_line(Event::stopping, {}, 5'000'000),
              R"({"time":"1970-01-01T00:00:00.005Z","level":"info","event":"stopping"})"
              "\n");
}

// Goal: text from outside can end neither the string nor the line. Method: quotes, backslashes,
// control characters. Other UTF-8 is not changed.
TEST(Log, ForeignTextIsQuoted) {
    const std::string line =
        log_line(Event::api_error, {{"reason", "a\"b\\c\nd\te\x01 é\r"}}, kNoon);
    EXPECT_NE(line.find(R"("reason":"a\"b\\c\u000ad\u0009e\u0001 é\u000d"})"), std::string::npos)
        << line;
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const std::string name = log_line(Event::api_error, {{"a\"b", "x"}}, kNoon);
    EXPECT_NE(name.find(R"("a\"b":"x")"), std::string::npos);
}

// Goal: negative and large numbers are written completely.
TEST(Log, Numbers) {
    const std::string line =
        log_line(Event::started, {{"a", -1}, {"b", std::int64_t{1} << 62}}, kNoon);
    EXPECT_NE(line.find(R"("a":-1,"b":4611686018427387904})"), std::string::npos);
}

// Goal: the table gives the name and the level of each event.
TEST(Log, EventTable) {
    EXPECT_EQ(event_name(Event::bind_uncertain), "bind_uncertain");
    EXPECT_EQ(event_level(Event::bind_uncertain), LogLevel::warning);
    EXPECT_EQ(event_level(Event::failed), LogLevel::error);
    EXPECT_EQ(event_level(Event::started), LogLevel::info);
}

// Goal: lines of several threads never mix. Method: four threads write to a captured stderr; every
// line must be complete.
TEST(Log, LinesOfThreadsDoNotMix) {
    ::testing::internal::CaptureStderr();
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([] {
                for (int i = 0; i < 50; ++i)
                    log_event(Event::started, {{"text", std::string(200, 'x')}});
            });
        }
    }
    const std::string out = ::testing::internal::GetCapturedStderr();
    std::size_t lines = 0;
    for (std::size_t at = 0; at < out.size(); ++lines) {
        const std::size_t end = out.find('\n', at);
        ASSERT_NE(end, std::string::npos);
        const std::string_view line = std::string_view(out).substr(at, end - at);
        EXPECT_TRUE(line.starts_with(R"({"time":")")) << line;
        EXPECT_TRUE(line.ends_with(R"(xxx"})")) << line;
        at = end + 1;
    }
    EXPECT_EQ(lines, 200U);
}

// Goal: every logged event is counted, wherever it was written.
TEST(LogEvent, IsCounted) {
    const std::uint64_t before = event_count(Event::bind_reconciled);
    set_log_sink([](Event, std::initializer_list<LogField>) {});
    log_event(Event::bind_reconciled);
    set_log_sink({});
    EXPECT_EQ(event_count(Event::bind_reconciled), before + 1);
    EXPECT_EQ(level_name(event_level(Event::bind_uncertain)), "warning");
}

}  // namespace
}  // namespace tessera

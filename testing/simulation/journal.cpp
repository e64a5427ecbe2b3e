#include "testing/simulation/journal.hpp"

#include <fmt/format.h>

namespace tessera::simulation {

void Journal::add(Time now, std::string_view part, const std::string& text) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    log_ += fmt::format("{:5}.{:06} {:<12} {}\n", now.count() / kNsPerSecond,
                        now.count() % kNsPerSecond / 1000, part, text);
}

void Journal::violation(Time now, const std::string& text) {
    if (broken()) return;
    violation_ = fmt::format("at {:.3f} s: {}", static_cast<double>(now.count()) / 1e9, text);
    add(now, "VIOLATION", text);
}

}  // namespace tessera::simulation

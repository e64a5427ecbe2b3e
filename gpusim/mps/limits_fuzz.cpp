#include <cstring>
#include <string>

#include "gpusim/mps/limits.hpp"
#include "testing/fuzz/fuzz.hpp"

// Any text is read to its end in entries that are parts of it, and no text raises a percentage.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpusim::mps;
    const std::string text(tessera::fuzz_text(data, size));
    const char* next = text.c_str();
    const char* end = next + std::strlen(next);
    PinnedLimit limit;
    for (const char* before = next; next_pinned_limit(next, limit); before = next) {
        FUZZ_CHECK(before <= limit.device && before < next && next <= end);
        FUZZ_CHECK(limit.length <= static_cast<std::size_t>(next - limit.device));
        const int ordinal = ordinal_of(limit);
        FUZZ_CHECK(ordinal >= -1 && ordinal < 10'000);
    }
    FUZZ_CHECK(next == end);
    const double percentage = lower_percentage(50, text.c_str());
    FUZZ_CHECK(percentage > 0 && percentage <= 50);
    const unsigned part = multiprocessors_of(40, percentage);
    FUZZ_CHECK(part >= 2 && part <= 20);
    return 0;
}

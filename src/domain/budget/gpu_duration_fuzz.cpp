#include "domain/budget/gpu_duration.hpp"
#include "testing/fuzz/fuzz.hpp"

// Any text gives an amount within bounds that prints back, or an error of one line.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto value = parse_gpu_duration(fuzz_text(data, size));
    if (value) {
        FUZZ_CHECK(*value >= GpuDuration{});
        FUZZ_CHECK(*value <= gpu_hours(kMostGpuHours));
        FUZZ_CHECK(parse_gpu_duration(to_string(*value)).value() == *value);
    } else {
        FUZZ_CHECK(value.error().code == Code::invalid_argument);
        FUZZ_CHECK(value.error().text.size() < 256);
    }
    if (const auto balance = parse_gpu_balance(fuzz_text(data, size))) {
        FUZZ_CHECK(*balance >= GpuDuration{} - kMostDebt);
        FUZZ_CHECK(*balance <= gpu_hours(kMostGpuHours));
        FUZZ_CHECK(parse_gpu_balance(to_string(*balance)).value() == *balance);
    }
    return 0;
}

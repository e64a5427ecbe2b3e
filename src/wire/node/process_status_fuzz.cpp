#include "testing/fuzz/fuzz.hpp"
#include "wire/node/process_status.hpp"

// A number that is found is a valid pid; a time is not before the node's boot.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto pid = tessera::innermost_pid(tessera::fuzz_text(data, size));
    FUZZ_CHECK(!pid || *pid > 0);
    const auto parent = tessera::parent_pid(tessera::fuzz_text(data, size));
    FUZZ_CHECK(!parent || *parent > 0);
    const auto ticks = tessera::start_ticks(tessera::fuzz_text(data, size));
    FUZZ_CHECK(!ticks || *ticks >= 0);
    return 0;
}

#include "testing/fuzz/fuzz.hpp"
#include "wire/mps/control_protocol.hpp"

// No answer makes a reader fail, and what is read is in its range.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto text = fuzz_text(data, size);
    const auto percent = mps::read_milli_percent(text);
    FUZZ_CHECK(!percent || (*percent >= 0 && *percent <= 100'000));
    const auto memory = mps::read_memory(text);
    FUZZ_CHECK(!memory || !*memory || **memory >= Bytes{});
    const auto pids = mps::read_pids(text);
    FUZZ_CHECK(!pids || pids->size() <= 4096);
    const auto taken = mps::check_taken(text);
    FUZZ_CHECK(taken || !taken.error().text.empty());
    const auto status = mps::read_status(text);
    FUZZ_CHECK(status || !status.error().text.empty());
    return 0;
}

#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/run_lease_json.hpp"

// Whatever can be read can be placed and shown, and survives write and read. Any bytes make a
// command that a lease can hold.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    RunLease named{.gpu = GpuUuid("GPU-0"), .memory = {1}, .pid = 1, .command = "x"};
    named.command += command_text(fuzz_text(data, size));
    const auto kept = read_run_lease(write_run_lease(named));
    FUZZ_CHECK(kept && *kept == named);
    const auto lease = read_run_lease(fuzz_text(data, size));
    if (!lease) return 0;
    FUZZ_CHECK(lease->memory > Bytes{} && !lease->gpu.empty() && lease->pid > 0);
    const auto again = read_run_lease(write_run_lease(*lease));
    FUZZ_CHECK(again && *again == *lease);
    return 0;
}

#include "domain/metering/usage_meter.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/meter_state_json.hpp"

// What can be read survives write and read, and makes records that can be charged.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto state = read_meter_state(fuzz_text(data, size));
    if (!state) return 0;
    const auto again = read_meter_state(write_meter_state(*state));
    FUZZ_CHECK(again && *again == *state);
    UsageMeter meter(*state);
    constexpr std::int64_t kHour = 3'600'000'000'000;
    std::map<PodUid, MeteredPod> pods;
    for (const auto& [uid, pod] : state->pods) {
        // A pod that was last charged an hour ago: a longer time makes too many records here.
        if (pods.size() < 3 && pod.running_ns < kHour) pods.emplace(uid, pod.pod);
    }
    for (const UsageRecord& record : meter.observe(pods, {state->boot, kHour, 2 * kHour}))
        FUZZ_CHECK(check_record(record));
    for (const UsageRecord& record : meter.observe({}, {state->boot, 2 * kHour, 3 * kHour}))
        FUZZ_CHECK(check_record(record));
    return 0;
}

#include "adapters/metering/node_meter_clock.hpp"

#include <ctime>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

// random(4): a new UUID at each start of the kernel, the same in all containers.
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr std::size_t kMostBootId = 64;

std::int64_t read_clock(clockid_t clock) {
    constexpr std::int64_t kNanos = 1'000'000'000;
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::int64_t>(time.tv_sec) * kNanos + time.tv_nsec;
}

}  // namespace

Result<NodeMeterClock> NodeMeterClock::open() {
    TRY(std::string boot, read_text_file_up_to(kBootId, kMostBootId));
    while (boot.ends_with('\n'))
        boot.pop_back();
    if (boot.empty()) return fail(Code::unavailable, std::string(kBootId) + ": is empty");
    return NodeMeterClock(std::move(boot));
}

// CLOCK_BOOTTIME counts the time that the machine sleeps, too.
MeterTime NodeMeterClock::now() const {
    return {boot_, read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME)};
}

}  // namespace tessera

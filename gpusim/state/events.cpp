#include "gpusim/state/events.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace gpusim {

void append_event(GpusFile& file, const EventRecord& record) {
    const std::uint64_t number = file.events_total.load() + 1;
    Event& event = file.events[number % kMaxEvents];
    event.number.store(0);
    event.type.store(record.type);
    event.data.store(record.data);
    event.gpu.store(static_cast<std::uint64_t>(record.gpu));
    event.number.store(number);
    file.events_total.store(number);
    file.event_bell.fetch_add(1);
    syscall(SYS_futex, &file.event_bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool read_event(const GpusFile& file, std::uint64_t number, EventRecord& record) {
    const Event& event = file.events[number % kMaxEvents];
    if (event.number.load() != number) return false;
    record.type = event.type.load();
    record.data = event.data.load();
    record.gpu = static_cast<int>(event.gpu.load());
    return event.number.load() == number && record.gpu < kMaxGpus;
}

// A process may wait for a futex on a file that is mapped read-only. A read-only mount needs that.
void wait_for_bell(const GpusFile& file, std::uint32_t seen, unsigned timeout_ms) {
    timespec timeout = {};
    timeout.tv_sec = static_cast<time_t>(timeout_ms / 1000);
    timeout.tv_nsec = static_cast<long>(timeout_ms % 1000) * 1000000;
    syscall(SYS_futex, &file.event_bell, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace gpusim

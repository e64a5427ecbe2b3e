#include "gpusim/state/events.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace gpusim {

void append_event(CardsFile& file, const EventRecord& record) {
    const std::uint64_t number = file.events_total.load() + 1;
    Event& event = file.events[number % kMaxEvents];
    event.number.store(0);
    event.type.store(record.type);
    event.data.store(record.data);
    event.card.store(static_cast<std::uint64_t>(record.card));
    event.number.store(number);
    file.events_total.store(number);
    file.event_bell.fetch_add(1);
    syscall(SYS_futex, &file.event_bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool read_event(const CardsFile& file, std::uint64_t number, EventRecord& record) {
    const Event& event = file.events[number % kMaxEvents];
    if (event.number.load() != number) return false;
    record.type = event.type.load();
    record.data = event.data.load();
    record.card = static_cast<int>(event.card.load());
    return event.number.load() == number && record.card < kMaxCards;
}

// A futex on a file that is mapped read-only may be waited on, which is what a read-only mount
// needs.
void wait_for_bell(const CardsFile& file, std::uint32_t seen, unsigned timeout_ms) {
    timespec timeout = {};
    timeout.tv_sec = static_cast<time_t>(timeout_ms / 1000);
    timeout.tv_nsec = static_cast<long>(timeout_ms % 1000) * 1000000;
    syscall(SYS_futex, &file.event_bell, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace gpusim

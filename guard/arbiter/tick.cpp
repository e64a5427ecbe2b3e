#include "guard/arbiter/tick.hpp"

#include <algorithm>

#include "guard/arbiter/reading.hpp"

namespace tessera::guard {

void tick(Arbiter& arbiter, const std::vector<Sharer>& sharers, std::int64_t now) {
    std::map<Arbiter::Id, ContainerReading> readings;
    for (const Sharer& sharer : sharers) {
        const GpuLimit& limit = sharer.limits->gpus[sharer.gpu];
        ContainerReading& reading = readings[sharer.id];
        reading.cores = limit.cores.load();
        reading.cores_limit = limit.cores_limit.load();
        const KnownTimes* known = arbiter.known(sharer.id);
        if (read_times(sharer.accounts_fd, sharer.gpu, now, reading, known)) continue;
        reading.is_read = false;
        reading.processes.clear();
        reading.waited_ns = known != nullptr ? known->waited_ns : 0;
        reading.waits = false;
    }
    const auto granted = arbiter.decide(now, readings);
    for (const Sharer& sharer : sharers)
        write_grant(sharer.limits->gpus[sharer.gpu].grant, granted.at(sharer.id));
}

std::chrono::milliseconds until_next_tick(std::chrono::nanoseconds took) {
    constexpr int kPartOfACore = 40;
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(kPartOfACore * took),
                      kSoonestTick, kLatestTick);
}

}  // namespace tessera::guard

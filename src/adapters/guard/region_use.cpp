#include "adapters/guard/region_use.hpp"

#include <algorithm>

#include "adapters/guard/guard_units.hpp"
#include "guard/arbiter/reading.hpp"
#include "guard/region/clock.hpp"

namespace tessera {
namespace {

Bytes bytes_of(guard::AllocationUnits units) {
    return {static_cast<std::int64_t>(units * guard::kAllocationUnitBytes)};
}

// Tenants write the accounts, so more than the container can ever have is not counted.
void add_held(const std::vector<guard::ProcessMemory>& holders, guard::AllocationUnits orphaned,
              guard::AllocationUnits most, ShareUse& use) {
    use.used = bytes_of(std::min(orphaned, most));
    for (const guard::ProcessMemory& holder : holders) {
        const Bytes held = bytes_of(std::min(holder.units, most));
        use.processes.push_back({.pid = std::max(holder.pid, 0), .used = held});
        use.used += held;
    }
    use.used = std::min(use.used, bytes_of(most));
}

}  // namespace

ShareUse read_use(const OpenRegion& region, int gpu) {
    const guard::GpuLimit& limit = region.limits().gpus[gpu];
    ShareUse use{.gpu = gpu_of(limit),
                 .limit = bytes_of(limit.memory.load()),
                 .cores = {static_cast<int>(limit.cores.load() / kPercent)},
                 .cores_limit = {static_cast<int>(limit.cores_limit.load() / kPercent)},
                 .is_timed = limit.is_timed.load() != 0};
    guard::MemoryReading held;
    guard::ContainerReading time;
    std::vector<guard::ProcessMemory> holders;
    if (!region.has_sound_accounts() || !read_memory_use(region.accounts(), gpu, held) ||
        !read_times(region.accounts(), gpu, guard::monotonic_ns(), time) ||
        !read_holders(region.accounts(), gpu, holders)) {
        use.is_damaged = true;
        return use;
    }
    use.refusals = static_cast<std::int64_t>(held.refusals);
    use.refused_contexts = static_cast<std::int64_t>(held.refused_contexts);
    use.waited_ns = time.waited_ns;
    add_held(holders, held.orphaned, limit.most_memory.load(), use);
    return use;
}

Bytes read_charged(const OpenRegion& region, int gpu) {
    guard::MemoryReading held;
    if (!region.has_sound_accounts() || !read_memory_use(region.accounts(), gpu, held)) return {};
    return bytes_of(std::min(held.held, region.limits().gpus[gpu].most_memory.load()));
}

GpuTime read_time_in_flight(const OpenRegion& region, int gpu) {
    GpuTime time;
    guard::ContainerReading reading;
    if (!region.has_sound_accounts() ||
        !read_times(region.accounts(), gpu, guard::monotonic_ns(), reading))
        return time;
    for (const guard::SlotReading& slot : reading.processes) {
        time.kernels_ns += slot.process.in_flight_ns[static_cast<int>(guard::WorkKind::kernels)];
        time.copies_ns += slot.process.in_flight_ns[static_cast<int>(guard::WorkKind::copies)];
    }
    return time;
}

}  // namespace tessera

// What the arbiter reads of a container. It reads through a descriptor, because a file that tenants
// may truncate must not be mapped. Tenants can write anything, so every number is clamped to its
// bounds here, and the time of each read is limited.
#pragma once

#include <vector>

#include "guard/arbiter/container_reading.hpp"
#include "guard/region/accounts_reader.hpp"

namespace tessera::guard {

// Adds to an empty reading what the container's processes report of their time on a GPU. For every
// slot that was ever taken, that is the total of all its owners, because totals stay. Dead
// processes have no work in flight and do not wait, whatever they left in the accounts. All sums
// are at most kMaxTimeNs. False if the file is incomplete.
//
// With `known`, it adds only processes that may have done something since the last reading, and
// their work intervals since then. A slot without a live process is then read only now and again.
// If such a slot changes all the same, that is noticed within kMaxProcesses / kSlotsAtOnce
// readings.
inline constexpr int kSlotsAtOnce = 32;
// A tenant can slow down each query for the owner of a slot, by many locks on the file. So the
// total time of the queries is limited. A slot that is not queried counts as having a live owner.
inline constexpr std::int64_t kLongestQueriesNs = 250'000;
bool read_times(int accounts_fd, int gpu, std::int64_t now, ContainerReading& reading,
                const KnownTimes* known = nullptr,
                std::int64_t longest_queries_ns = kLongestQueriesNs);

// What a container has allocated on a GPU, and how often it was refused more, or a context.
struct MemoryReading {
    AllocationUnits held =
        0;  // what died with a process counts until another process takes it back
    AllocationUnits orphaned =
        0;  // the part that only descriptors may hold, because its creator is dead
    std::uint64_t refusals = 0;          // at most INT64_MAX
    std::uint64_t refused_contexts = 0;  // likewise
};
// False if the file is incomplete.
bool read_memory_use(int accounts_fd, int gpu, MemoryReading& reading);

// The live processes, including those without memory on the GPU, because the driver may count a
// context for one. An invalid pid becomes 0. False if the file is incomplete.
bool read_holders(int accounts_fd, int gpu, std::vector<ProcessMemory>& holders);

}  // namespace tessera::guard

// Memory limits of cgroups, as drivers from r615 on have them (nvmlDeviceSetMemoryLimits_v1).
//
// Sources: NVIDIA's "MPS v3 Memory Partitioning" and the NVML API reference. A process belongs to
// the cgroup that it is in when it takes its slot. Its memory counts there, also what it has made
// and others hold after its death.
//
// The driver has two ways (MemoryLimits). With `dmem`, the kernel's controller, a limit bounds all
// below it together, and a program sees only the limit of its own cgroup. A soft limit also counts
// for all parents. They keep it if the cgroup is removed before its soft limit is set to 0. With
// `misc`, the driver's own accounts, the nearest limit counts, and a program sees that one. Soft
// limits are of the cgroup alone.
//
// The driver requires cgroup v2. Here the hierarchy `memory` of cgroup v1 does as well, because
// machines that run the tests have no other.
//
// A cgroup is known by the identity of its directory, which is the same in each cgroup namespace.
// Where a namespace hides its parents, they are not known until a process that sees them sets its
// limits.
//
// Thread rule: as for the shared state (layout.hpp).
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

// A cgroup's directory, as this process sees it.
struct CgroupName {
    char path[kMaxCgroupPath] = {};
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: the directory is not mounted here
};

enum class CgroupText { found, none, too_long };

// The directory of the cgroup of a process whose /proc/PID/cgroup is `text`.
CgroupText directory_of_cgroup(const char* text, char (&path)[kMaxCgroupPath]);

// The cgroup of this process.
CgroupText own_cgroup_name(CgroupName& name);

// The cgroup of a directory. False if it is no directory of a cgroup whose memory counts.
bool name_of_cgroup(const char* directory, CgroupName& name);

// The entry of a cgroup; kNoCgroup if there is none.
std::uint32_t find_cgroup(const GpusFile& file, const CgroupName& name);

// Sets `cgroup` to the entry of this process's cgroup, and adds it if need be; to kNoCgroup where
// the driver has no limits. False if no entry is left, or the cgroup's path is too long. Call it
// under the decision lock.
bool enter_own_cgroup(const State& state, std::uint32_t& cgroup);

struct Limits {
    std::uint64_t soft_bytes = 0;
    std::uint64_t hard_bytes = kNoMemoryLimit;
};

// Sets the limits of a cgroup for one GPU. False if no entry is left. Call it under the decision
// lock, in a process that sees the directories of all cgroups.
bool set_limits(const State& state, const CgroupName& name, int gpu, Limits limits);

// As they are in force, so also with the soft limits below.
Limits limits_of(const GpusFile& file, std::uint32_t cgroup, int gpu);

// What counts for the limit of `cgroup`.
std::uint64_t cgroup_bytes(const State& state, std::uint32_t cgroup, int gpu);

// What the limits leave a process of `cgroup`, which may be kNoCgroup.
std::uint64_t bytes_left_by_limits(const State& state, std::uint32_t cgroup, int gpu);

// The cgroup whose limit a process of this one sees; kNoCgroup if it sees the whole GPU. The cgroup
// need not have an entry.
std::uint32_t cgroup_seen_by(const GpusFile& file, const CgroupName& name, int gpu);
// The same by the entry, which may be kNoCgroup.
std::uint32_t cgroup_seen_by(const GpusFile& file, std::uint32_t cgroup, int gpu);

}  // namespace gpusim

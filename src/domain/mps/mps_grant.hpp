// What containers with MPS were granted of a GPU, and what its control daemon must therefore be
// set to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

// What a program takes of the GPU beside its memory, for its context. MPS counts it, and the
// container's limit, which the guard holds, does not (docs/research/mps-debian.md).
inline constexpr Bytes kMpsContextAllowance{std::int64_t{1} << 30};

// MPS gives multiprocessors in pairs, rounded down (docs/research/mps-580.md), so what a process
// has may differ by this from its percentage.
inline constexpr int kToleratedPercent = 3;    // of the GPU
inline constexpr int kMultiprocessorStep = 2;  // multiprocessors; the least that is tolerated

// The share of one container.
struct MpsGrant {
    PodUid pod;
    std::string container;
    PodName name = {};  // of the pod; empty: not known
    GpuUuid gpu = {};
    Percent threads;  // of the GPU's multiprocessors; 1 to 100
    Bytes memory;
    // Of its processes. Nothing: the runtime did not say, or it has not started yet.
    std::optional<std::uint32_t> user_id = {};
    bool shares_memory = false;  // it has the servers' /dev/shm
    bool has_probe = false;      // it has the program of `tessera mps verify`

    friend bool operator==(const MpsGrant&, const MpsGrant&) = default;
};

// What MPS limits a process of the container to.
MpsSettings mps_settings_of(const MpsGrant& grant);

// The daemon's settings are limits that each client may lower for itself. So they are the largest
// of those of the GPU's containers. Nothing if it has none.
std::optional<MpsSettings> mps_settings_for(const GpuUuid& gpu, std::span<const MpsGrant> grants);

// Whether settings let a container have its grant.
bool has_room_for(const MpsSettings& settings, const MpsGrant& grant);

// The most multiprocessors that a process with this limit has of a GPU that has `all`, with what is
// tolerated. 0: no limit, or `all` is not known.
int most_multiprocessors(int all, Percent threads);

// Another container on the same GPU with processes of another user; null if there is none. MPS
// serves the users one after the other: programs of another user wait until all of the first one
// have ended (docs/research/mps-debian.md).
const MpsGrant* of_another_user(const MpsGrant& grant, std::span<const MpsGrant> others);

}  // namespace tessera

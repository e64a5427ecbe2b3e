// Streams of tasks drawn from a mix: a sample of future tasks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/engine/mix.hpp"

namespace tessera {

inline constexpr std::size_t kStreamLength = 60;  // tasks
inline constexpr std::size_t kGroupStreams = 16;

// Which part of a sample a group of streams is: `group` of `groups` that are drawn alike. At each
// place of the stream, all groups together have one task of each 1 / (groups x kGroupStreams) of
// the mix.
struct StreamSample {
    std::uint64_t seed = 0;
    std::size_t group = 0;
    std::size_t groups = 1;
};

// Indices into the mix.
using TaskStream = std::array<std::uint16_t, kStreamLength>;

// At each place of the stream there is a systematic sample of the mix, dealt to the streams at
// random. Every kind of task comes as early and as often as in the mix, as nearly as whole tasks
// allow. `mix` must not be empty. The same mix and sample give the same streams on every machine.
std::array<TaskStream, kGroupStreams> sample_streams(std::span<const MixClass> mix,
                                                     const StreamSample& sample);

}  // namespace tessera

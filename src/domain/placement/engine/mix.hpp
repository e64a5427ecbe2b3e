// The target workload: which tasks are expected, and how often.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// Tasks that request the same CPU, GPUs and models. Memory is ignored, because it is not the scarce
// resource.
struct MixClass {
    std::int32_t cpu_milli = 0;
    std::int16_t milli = 0;
    std::int16_t count = 0;
    ModelSet models = kAnyModel;
    double share = 0;  // of all tasks; the shares of all classes add up to 1

    friend bool operator==(const MixClass&, const MixClass&) = default;
};

// An observed task, and the text of its models. Two spellings are two classes, and ties are broken
// by the text, as the FGD artefact does.
struct MixSample {
    PlacementTask task;
    std::string_view models;
};

inline constexpr int kTargetPercent = 95;

// The most frequent classes that together make up `percent` of the samples: the artefact's "typical
// pods", with kTargetPercent. The most frequent comes first; among equals, the larger CPU, milli,
// count, then text. Fragmentation is summed in that order.
std::vector<MixClass> target_mix(std::span<const MixSample> samples, int percent);

}  // namespace tessera

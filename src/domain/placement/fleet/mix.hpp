// The target workload: which tasks are expected, and how often.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// Tasks that ask for the same CPU, cards and models. Memory is left out: it is not what runs out.
struct MixClass {
    std::int32_t cpu_milli = 0;
    std::int16_t milli = 0;
    std::int16_t count = 0;
    ModelSet models = kAnyModel;
    double share = 0;  // of all tasks; the classes' sum is 1

    friend bool operator==(const MixClass&, const MixClass&) = default;
};

// A task that was seen, and how its models were written: two spellings are two classes, and ties
// are broken by the text, as the FGD artefact does.
struct MixSample {
    Task task;
    std::string_view models;
};

inline constexpr int kTargetPercent = 95;

// The most frequent classes, those that make up `percent` of the samples: the artefact's "typical
// pods", with kTargetPercent. Most frequent first; among equals the larger CPU, milli, count, text
// first. That is the order in which fragmentation is summed.
std::vector<MixClass> target_mix(std::span<const MixSample> samples, int percent);

}  // namespace tessera

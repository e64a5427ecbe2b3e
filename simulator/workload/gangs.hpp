// Gangs in a trace: those that it names, or pods that each stand for a gang of identical pods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulator/workload/workload.hpp"

namespace tessera {

struct GangShare {
    int percent = 0;  // of the pods that request GPUs
    int size = 1;     // pods in each gang

    friend bool operator==(const GangShare&, const GangShare&) = default;
};

// Parses "10%x8": every tenth pod stands for a gang of 8. invalid_argument for other texts.
Result<GangShare> read_gang_share(std::string_view text);

// Pods with the same name form a gang; an empty name means no gang. When as many pods of a gang
// have arrived as it has, they are placed together, at the arrival of the last one. A gang that is
// never complete does not arrive. `names` is parallel to Workload::pods; the first pod of a gang
// then stands for all of them (TimedTask::gang; 0 for the others).
void name_gangs(Workload& workload, std::span<const std::string> names);

// The seed selects the pods; every arrival of such a pod becomes a gang. invalid_argument if the
// trace has gangs of its own.
Result<> make_gangs(Workload& workload, const GangShare& share, std::uint64_t seed);

// Writes the gangs of Workload::pods into the order of arrival, which has each pod once so far: a
// gang's pods arrive one after the other.
void spread_gangs(Workload& workload);

}  // namespace tessera

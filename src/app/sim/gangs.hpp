// Gangs in a trace: those that it names, or some of its pods stand for a gang of pods like them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/sim/workload.hpp"

namespace tessera {

struct GangShare {
    int percent = 0;  // of the pods that ask for cards
    int size = 1;     // pods in each gang

    friend bool operator==(const GangShare&, const GangShare&) = default;
};

// "10%x8": every tenth pod stands for a gang of 8. invalid_argument.
Result<GangShare> read_gang_share(std::string_view text);

// The pods of one name are a gang; empty names are of none. As often as so many of a gang's pods
// arrived as there are, they are placed together, where the last of them came; of a gang that is
// not complete nobody comes. `names` is parallel to Workload::pods, whose first pod of a gang
// stands for all of them from now on (TimedTask::gang; 0 for the others).
void name_gangs(Workload& workload, std::span<const std::string> names);

// Which pods do is drawn by the seed; every arrival of such a pod is a gang's. invalid_argument
// where the trace has gangs of its own.
Result<> make_gangs(Workload& workload, const GangShare& share, std::uint64_t seed);

// Writes the gangs of Workload::pods into the order of arrival, which has each pod once so far: a
// gang's pods come one after the other.
void spread_gangs(Workload& workload);

}  // namespace tessera

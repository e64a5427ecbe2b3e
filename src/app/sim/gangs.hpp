// Gangs in a trace that has none: some of its pods stand for a gang of pods like them.
#pragma once

#include <cstdint>
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

// Which pods do is drawn by the seed; every arrival of such a pod is a gang's.
void make_gangs(Workload& workload, const GangShare& share, std::uint64_t seed);

// Writes the gangs of Workload::pods into the order of arrival, which has each pod once so far: a
// gang's pods come one after the other.
void spread_gangs(Workload& workload);

}  // namespace tessera

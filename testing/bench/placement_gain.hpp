// How much more GPU capacity ExpectedFill allocates than FGD, on all traces of a folder with the
// layout of the openb data.
#pragma once

#include <string>

namespace tessera::bench {

// Compares ExpectedFill with FGD on all arrival orders of each trace in `folder`. ExpectedFill
// learns the mix of pods from nothing and runs with four sampling seeds; FGD receives the mix.
// Prints figures. Returns whether all meet their goals.
bool compare_with_fgd(const std::string& folder, int threads);

// Prints the gain of ExpectedFill's score terms: a line per variant of the weights, with the
// difference to FGD in percentage points.
void show_ablation(const std::string& folder, int threads);

}  // namespace tessera::bench

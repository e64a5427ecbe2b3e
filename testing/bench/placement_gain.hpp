// What ExpectedFill holds more than FGD, on all traces of a folder in the order of openb's.
#pragma once

#include <string>

namespace tessera::bench {

// ExpectedFill, the mix learnt from nothing, under four sampling seeds, against FGD, which is told
// the mix: all orders of arrival that each trace of `folder` has. Prints figures; whether all hold.
bool compare_with_fgd(const std::string& folder, int threads);

// What each term of ExpectedFill's score is worth: a line per trace, difference to FGD in points.
void show_ablation(const std::string& folder, int threads);

}  // namespace tessera::bench

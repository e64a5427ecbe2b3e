// Shares out one GPU: first by guarantee, then by weight among those that want more. (Progressive
// filling, as for max-min fairness: Bertsekas and Gallager, Data Networks, 1992.)
#pragma once

#include <vector>

namespace tessera::guard {

// All parts are of the whole GPU. Thousandths do not matter here: use corrects the result later.
struct Claim {
    double cores = 0;
    double cores_limit = 1;
    double wanted = 0;
    double weight = 0;
    bool comes_first = true;  // when time that no container wants now is given away
};

// One result per claim, in the same order.
std::vector<double> fill(const std::vector<Claim>& claims);

}  // namespace tessera::guard

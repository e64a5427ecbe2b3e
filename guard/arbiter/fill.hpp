// Shares out one card: by guarantee, then by weight, among those that want more (progressive
// filling, as for max-min fairness: Bertsekas and Gallager, Data Networks, 1992).
#pragma once

#include <vector>

namespace tessera::guard {

// All of the whole card. Thousandth parts do not matter here: what comes out is checked by use.
struct Claim {
    double cores = 0;
    double ceiling = 1;
    double wanted = 0;
    double weight = 0;
    bool comes_first = true;  // where what nobody wants now is given to who may want it
};

// By claim.
std::vector<double> fill(const std::vector<Claim>& claims);

}  // namespace tessera::guard

#include "guard/process/holdings.hpp"

namespace tessera::guard {

Granules Holdings::cost_of(int card, std::uint64_t bytes) const {
    if (!shares_granules(bytes)) return granules_of(bytes);
    const std::uint64_t now = small_bytes_[card];
    return granules_of(now + in_grains(bytes)) - granules_of(now);
}

Granules Holdings::worth_of(int card, std::uint64_t bytes) const {
    if (!shares_granules(bytes)) return granules_of(bytes);
    const std::uint64_t now = small_bytes_[card];
    return granules_of(now) - granules_of(now - in_grains(bytes));
}

void Holdings::count(int card, std::uint64_t bytes) {
    if (shares_granules(bytes)) small_bytes_[card] += in_grains(bytes);
}

void Holdings::discount(int card, std::uint64_t bytes) {
    if (shares_granules(bytes)) small_bytes_[card] -= in_grains(bytes);
}

Holding Holdings::take_next_of(CUcontext context, std::uint64_t& place) {
    return table_.take_next(place,
                            [context](const Holding& each) { return each.context == context; });
}

void Holdings::pass_on(CUcontext from, CUcontext to) {
    table_.for_each([from, to](Holding& each) {
        if (each.context == from) each.context = to;
    });
}

}  // namespace tessera::guard

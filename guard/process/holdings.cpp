#include "guard/process/holdings.hpp"

namespace tessera::guard {

AllocationUnits Holdings::cost_of(int gpu, std::uint64_t bytes) const {
    if (!shares_units(bytes)) return units_of(bytes);
    const std::uint64_t now = small_bytes_[gpu];
    return units_of(now + in_grains(bytes)) - units_of(now);
}

AllocationUnits Holdings::worth_of(int gpu, std::uint64_t bytes) const {
    if (!shares_units(bytes)) return units_of(bytes);
    const std::uint64_t now = small_bytes_[gpu];
    return units_of(now) - units_of(now - in_grains(bytes));
}

void Holdings::count(int gpu, std::uint64_t bytes) {
    if (shares_units(bytes)) small_bytes_[gpu] += in_grains(bytes);
}

void Holdings::discount(int gpu, std::uint64_t bytes) {
    if (shares_units(bytes)) small_bytes_[gpu] -= in_grains(bytes);
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

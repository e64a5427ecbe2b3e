#include "guard/arbiter/fill.hpp"

#include <algorithm>
#include <cstddef>

namespace tessera::guard {
namespace {

// Gives `left` by weight to the claims that have room for it, until no room or nothing is left.
// Returns what is left.
double pour(double left, const std::vector<double>& room, const std::vector<Claim>& claims,
            std::vector<double>& got) {
    std::vector<double> given(claims.size());
    constexpr double kNothing = 1e-9;
    while (left > kNothing) {
        double weights = 0;
        for (std::size_t i = 0; i < claims.size(); i++)
            if (given[i] < room[i]) weights += claims[i].weight;
        if (weights <= 0) break;
        double poured = 0;
        for (std::size_t i = 0; i < claims.size(); i++) {
            if (given[i] >= room[i]) continue;
            const double more = std::min(left * claims[i].weight / weights, room[i] - given[i]);
            given[i] += more;
            poured += more;
        }
        if (poured <= kNothing) break;
        left -= poured;
    }
    for (std::size_t i = 0; i < claims.size(); i++)
        got[i] += given[i];
    return left;
}

}  // namespace

std::vector<double> fill(const std::vector<Claim>& claims) {
    std::vector<double> got(claims.size());
    double left = 1;
    for (std::size_t i = 0; i < claims.size(); i++) {
        got[i] = std::min({claims[i].cores, claims[i].cores_limit, claims[i].wanted});
        left -= got[i];
    }
    std::vector<double> room(claims.size());
    for (std::size_t i = 0; i < claims.size(); i++)
        room[i] = std::max(0.0, std::min(claims[i].wanted, claims[i].cores_limit) - got[i]);
    left = pour(left, room, claims, got);
    // No container wants the rest now. A container that wants it next need not wait for the next
    // tick. Containers that may want it soon come first, so idle ones take nothing from them.
    for (const bool first : {true, false}) {
        for (std::size_t i = 0; i < claims.size(); i++) {
            const bool has_room = claims[i].comes_first == first;
            room[i] = has_room ? std::max(0.0, claims[i].cores_limit - got[i]) : 0;
        }
        left = pour(left, room, claims, got);
    }
    return got;
}

}  // namespace tessera::guard

#include "guard/arbiter/arbiter.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::guard {
namespace {

// Who does not wait gets somewhat more than he used, so that he can come to use more.
constexpr double kRoomToGrow = 1.3;
constexpr double kRoomToBegin = 0.02;
// Nobody who may have the whole card is to wait for it because a clock is a little off.
constexpr double kMoreThanWhole = 1.25;
// How fast what was used is forgotten: half in some 5 ticks.
constexpr double kForget = 0.13;
// Less than this part of a tick in flight, and nobody waiting, is a pause.
constexpr double kPause = 0.5;

double of_whole(Millionths part) {
    return static_cast<double>(part) / kWhole;
}

Millionths millionths(double part) {
    return static_cast<Millionths>(std::lround(part * kWhole));
}

// Gives `left` to those with room for it, by weight, until nobody has or nothing is left. What is
// still left.
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

double own_part(const std::vector<double>& others) {
    // chance[k]: of k of them at once.
    std::vector<double> chance = {1.0};
    for (const double part : others) {
        chance.push_back(0);
        for (std::size_t k = chance.size() - 1; k > 0; k--)
            chance[k] = chance[k] * (1 - part) + chance[k - 1] * part;
        chance[0] *= 1 - part;
    }
    double mean = 0;
    for (std::size_t k = 0; k < chance.size(); k++)
        mean += chance[k] / static_cast<double>(k + 1);
    return mean;
}

std::vector<double> fill(const std::vector<Claim>& claims) {
    std::vector<double> got(claims.size());
    double left = 1;
    for (std::size_t i = 0; i < claims.size(); i++) {
        got[i] = std::min({claims[i].cores, claims[i].ceiling, claims[i].wanted});
        left -= got[i];
    }
    std::vector<double> room(claims.size());
    for (std::size_t i = 0; i < claims.size(); i++)
        room[i] = std::max(0.0, std::min(claims[i].wanted, claims[i].ceiling) - got[i]);
    left = pour(left, room, claims, got);
    // Nobody wants it now; whoever does next need not wait for the next tick.
    for (std::size_t i = 0; i < claims.size(); i++)
        room[i] = std::max(0.0, claims[i].ceiling - got[i]);
    pour(left, room, claims, got);
    return got;
}

// What one process did in a tick.
struct Arbiter::Busy {
    Container* container;
    double part[kWorkKinds];  // of the tick
};

void Arbiter::charge(std::int64_t tick, const std::map<Id, ContainerReading>& readings) {
    std::vector<Busy> all;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        container.is_pausing = !reading.waits && reading.waited_ns == container.waited_ns;
        for (const auto& [slot, process] : reading.processes) {
            const auto before = container.processes.find(slot);
            if (before == container.processes.end()) continue;
            Busy busy = {&container, {}};
            for (int kind = 0; kind < kWorkKinds; kind++)
                busy.part[kind] = static_cast<double>(process.in_flight_ns[kind] -
                                                      before->second.in_flight_ns[kind]) /
                                  static_cast<double>(tick);
            if (busy.part[0] + busy.part[1] > kPause) container.is_pausing = false;
            all.push_back(busy);
        }
    }
    for (int kind = 0; kind < kWorkKinds; kind++) {
        std::map<Container*, std::pair<double, double>> of;  // in flight, of that its own
        for (std::size_t i = 0; i < all.size(); i++) {
            std::vector<double> others;
            for (std::size_t j = 0; j < all.size(); j++) {
                const double part = std::clamp(all[j].part[kind], 0.0, 1.0);
                if (j != i && part > 0) others.push_back(part);
            }
            auto& [in_flight, own] = of[all[i].container];
            in_flight += all[i].part[kind];
            own += all[i].part[kind] * own_part(others);
        }
        for (const auto& [container, sums] : of) {
            const auto used = static_cast<std::int64_t>(sums.second * static_cast<double>(tick));
            container->used_ns[kind] += used;
            container->balance_ns[kind] -= used;
            if (sums.first > 0.01)
                container->part[kind] = millionths(std::clamp(sums.second / sums.first, 0.0, 1.0));
        }
    }
}

void Arbiter::share_out(std::int64_t tick, const std::map<Id, ContainerReading>& readings) {
    std::vector<Claim> claims;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        const bool waited = reading.waits || reading.waited_ns != container.waited_ns;
        container.waited_ns = reading.waited_ns;
        const double cores = of_whole(reading.cores);
        const double ceiling = of_whole(reading.ceiling);
        claims.push_back({
            .cores = cores,
            .ceiling = reading.ceiling >= kWhole ? kMoreThanWhole : ceiling,
            .wanted = waited ? kMoreThanWhole : container.recent_use * kRoomToGrow + kRoomToBegin,
            .weight = of_whole(reading.cores > 0 ? reading.cores : kWeightOfNone),
        });
    }
    const std::vector<double> rates = fill(claims);
    std::size_t i = 0;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        for (std::int64_t& balance : container.balance_ns) {
            balance += part_of(tick, container.rate);
            balance =
                std::clamp(balance, -kMaxDebtNs, container.is_pausing ? kMaxBalanceNs : kMaxLagNs);
        }
        // Who does not use what he is sure of can begin to at once; the next tick takes it back
        // from those who have it meanwhile.
        container.rate = millionths(std::max(rates[i], claims[i].cores));
        container.processes = reading.processes;
        i++;
    }
}

std::map<Arbiter::Id, Granted> Arbiter::decide(std::int64_t now,
                                               const std::map<Id, ContainerReading>& readings) {
    std::erase_if(containers_, [&](const auto& known) { return !readings.contains(known.first); });
    const std::int64_t tick = now - as_of_ns_;
    const bool is_first = as_of_ns_ == 0 || tick <= 0;
    std::map<Id, std::int64_t> used_before;
    for (const auto& [id, container] : containers_)
        used_before[id] = std::max(container.used_ns[0], container.used_ns[1]);
    if (!is_first) charge(tick, readings);
    for (auto& [id, container] : containers_) {
        if (is_first) break;
        const std::int64_t used = std::max(container.used_ns[0], container.used_ns[1]);
        const double use = static_cast<double>(used - used_before[id]) / static_cast<double>(tick);
        container.recent_use = std::max(use, container.recent_use * (1 - kForget) + use * kForget);
    }
    share_out(is_first ? 0 : tick, readings);
    as_of_ns_ = now;
    std::map<Id, Granted> granted;
    for (const auto& [id, container] : containers_) {
        Granted& grant = granted[id];
        grant.as_of_ns = now;
        grant.rate = container.rate;
        for (int kind = 0; kind < kWorkKinds; kind++)
            grant.of[kind] = {container.balance_ns[kind], container.part[kind]};
    }
    return granted;
}

std::int64_t Arbiter::used_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.used_ns[static_cast<int>(kind)] : 0;
}

}  // namespace tessera::guard

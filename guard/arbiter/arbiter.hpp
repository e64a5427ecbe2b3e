// Shares out a card's time among the containers on it, tick by tick, from how long their processes
// had work in flight.
//
// A card runs the processes that have work by turns. So of the time that a process had work, its
// own is one part in as many as had work with it; how often that was how many follows from how long
// each had work in the tick, as if they came independently. Of that time each container gets
//   - what it is sure of (`cores`), if it wants it;
//   - of what is left, a part by weight (its cores; kWeightOfNone without), as long as it wants
//   more,
//     up to its ceiling;
// and has a balance: it grows by that rate, sinks by what was used, and who is not above zero waits
// (compute/gate.hpp). So what one tick got wrong the next ones pay back: over time the shares are
// exact.
//
// Not thread-safe; one per card.
#pragma once

#include <map>
#include <vector>

#include "guard/region/grant.hpp"

namespace tessera::guard {

// What a balance may grow to: how far above its share a container comes after a pause,
inline constexpr std::int64_t kMaxBalanceNs = 10'000'000;
// and how far behind it may be and catch up, if it always wanted more than it got.
inline constexpr std::int64_t kMaxLagNs = 200'000'000;
// And sink to: a kernel that is longer than this is not paid for in full.
inline constexpr std::int64_t kMaxDebtNs = 1'000'000'000;
inline constexpr Millionths kWeightOfNone = 100'000;

struct ProcessReading {
    struct Span {
        std::int64_t start_ns;
        std::int64_t end_ns;
    };

    std::int64_t in_flight_ns[kWorkKinds] = {};  // in all, as of the tick
    std::vector<Span> spans[kWorkKinds];         // of that, those that are known, in any order
};

struct ContainerReading {
    Millionths cores = 0;
    Millionths ceiling = kWhole;
    std::int64_t waited_ns = 0;  // of its processes together, in all
    bool waits = false;
    std::map<int, ProcessReading> processes;  // by slot; the living
};

class Arbiter {
  public:
    using Id = std::uint64_t;  // of a container; the same at every tick

    // The readings are of `now`. A container that is new begins with what it is sure of.
    std::map<Id, Granted> decide(std::int64_t now, const std::map<Id, ContainerReading>& readings);
    // Nobody had work in the last tick, or waited.
    [[nodiscard]] bool is_quiet() const;
    // What a container has used of the card's time in all, since it was first seen.
    [[nodiscard]] std::int64_t used_ns(Id id, WorkKind kind) const;

  private:
    struct Container {
        std::map<int, ProcessReading> processes;
        std::int64_t waited_ns = 0;
        Millionths rate = 0;
        double recent_use = 0;    // of the whole card
        bool is_pausing = false;  // it had no work, or not much, in this tick
        bool is_idle = true;      // none at all
        std::int64_t balance_ns[kWorkKinds] = {};
        std::int64_t used_ns[kWorkKinds] = {};
        Millionths part[kWorkKinds] = {kWhole, kWhole};
    };

    void note_pauses(const std::map<Id, ContainerReading>& readings);
    void charge(WorkKind kind, std::int64_t now, const std::map<Id, ContainerReading>& readings);
    void share_out(std::int64_t tick, const std::map<Id, ContainerReading>& readings);

    std::map<Id, Container> containers_;
    std::int64_t as_of_ns_ = 0;
};

// How much of its time in flight was a process's own, if so many others were in flight all of it,
// and these for parts of it, independently: the mean of 1 / (1 + how many). Exposed for its test.
double own_part(int certain, const std::vector<double>& others);

// Shares out one card: by guarantee, then by weight, among those that want more. Thousandth parts
// do not matter here: what comes out is checked by use. Exposed for its test.
struct Claim {
    double cores = 0;  // all of the whole card
    double ceiling = 1;
    double wanted = 0;
    double weight = 0;
};
std::vector<double> fill(const std::vector<Claim>& claims);

}  // namespace tessera::guard

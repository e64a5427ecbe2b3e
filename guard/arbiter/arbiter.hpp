// Shares out a card's time among the containers on it, tick by tick, from how long their processes
// had work in flight.
//
// A card runs the processes that have work by turns. So of the time that a process had work, its
// own is one part in as many as had work with it (division.hpp): as the pieces of work say that
// the processes know; where there is none, as follows from how long each had work in the tick, as
// if they came independently. Of that time each container gets
//   - what it is sure of (`cores`), if it wants it;
//   - of what is left, a part by weight (its cores; kWeightOfNone without), as long as it wants
//     more, up to its ceiling: who wants nothing has no claim to it;
// and has a balance: it grows by that rate, sinks by what was used, and who is not above zero waits
// (compute/gate.hpp). So what one tick got wrong the next ones pay back: over time the shares are
// exact.
//
// Not thread-safe; one per card.
#pragma once

#include <map>
#include <vector>

#include "guard/arbiter/division.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

// What a balance may grow to: how far above its share a container comes after a pause,
inline constexpr std::int64_t kMaxBalanceNs = 10'000'000;
// and how far behind it may be and catch up, if it always wanted more than it got.
inline constexpr std::int64_t kMaxLagNs = 200'000'000;
// Who had work or waited all of the time may be as far behind as others can be ahead: it gets
// back what they had of his.
inline constexpr std::int64_t kMaxPressingLagNs = 1'000'000'000;
// But who has a ceiling is not to pass it while he catches up: by no more than 2 points in a
// second.
inline constexpr std::int64_t kMaxLagBelowCeilingNs = 20'000'000;

// Of a container's processes, of a kind of work, so many at most count each for itself in a tick:
// those that had most in flight. The others together count as one of which several are in flight at
// once, as many as in the mean: what they had in all is exact, how it met others' work is not.
inline constexpr std::size_t kMaxFlights = 64;
// And of all containers of the card, so that no tick costs more than so much: where there are more,
// fewer of those containers that have most.
inline constexpr std::size_t kMaxFlightsOfCard = 256;

// No time that a tenant writes counts as longer: 73 years. Sums stop there too.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;

// Times are from 0 to kMaxTimeNs.
struct ProcessReading {
    std::int64_t in_flight_ns[kWorkKinds] = {};  // in all, as of the reading
    std::int64_t waited_ns = 0;                  // in all
    std::vector<Span> spans[kWorkKinds];  // of that in flight, those that are known, in any order
    bool is_busy = false;                 // in flight now, or since the reading before
    // When the piece began that is in flight, or was when its process died; 0: there is none.
    std::int64_t since_ns[kWorkKinds] = {};
    bool is_lost[kWorkKinds] = {};  // its process is dead, and will never write it down
    // Of in_flight_ns, that of such a piece, when it is found to be one; later it is left out.
    std::int64_t lost_ns[kWorkKinds] = {};
    std::int64_t ended_ns[kWorkKinds] = {};  // what the process wrote down as over, in all
};

// Of a slot: its last owner may be dead, and what its owners had in all stays.
struct SlotReading {
    int slot;
    ProcessReading process;
};

struct ContainerReading {
    Millionths cores = 0;
    Millionths ceiling = kWhole;
    std::int64_t waited_ns = 0;  // of its processes together, in all
    bool waits = false;          // one that lives does now
    bool is_read = true;         // false: the accounts are not whole, and nothing is known
    unsigned next_slot = 0;      // how many times a slot was taken
    // Ascending. Who was read before and is not here has done nothing since.
    std::vector<SlotReading> processes;
};

// What the readings of a container said so far.
struct KnownTimes {
    struct Process {
        bool is_known = false;
        bool is_busy = false;
        std::int64_t in_flight_ns[kWorkKinds] = {};  // without what was lost
        std::int64_t ended_ns[kWorkKinds] = {};
        std::int64_t since_ns[kWorkKinds] = {};
        bool is_lost[kWorkKinds] = {};
        std::int64_t waited_ns = 0;
    };

    // By slot. Once the accounts were read, a slot that is not here had no owner by then.
    std::vector<Process> processes;
    std::int64_t waited_ns = 0;
    std::int64_t as_of_ns = 0;
    unsigned next_slot = 0;
    unsigned readings = 0;
};

// Shares out one card: by guarantee, then by weight, among those that want more. Thousandth parts
// do not matter here: what comes out is checked by use. Exposed for its test.
struct Claim {
    double cores = 0;  // all of the whole card
    double ceiling = 1;
    double wanted = 0;
    double weight = 0;
    bool is_busy = true;  // what nobody wants now is for those who are, before the others
};
std::vector<double> fill(const std::vector<Claim>& claims);

class Arbiter {
  public:
    using Id = std::uint64_t;  // of a container; the same at every tick

    // The readings are of `now`. A container that is new begins with what it is sure of.
    std::map<Id, Granted> decide(std::int64_t now, const std::map<Id, ContainerReading>& readings);
    // Of a container in the last readings, until the next ones; null of another.
    [[nodiscard]] const KnownTimes* known(Id id) const;
    // Nobody had work in the last tick, or waited.
    [[nodiscard]] bool is_quiet() const;
    // What a container has used of the card's time in all, since it was first seen.
    [[nodiscard]] std::int64_t used_ns(Id id, WorkKind kind) const;
    // How long any of its processes had work there, beside whomever. As above.
    [[nodiscard]] std::int64_t busy_ns(Id id, WorkKind kind) const;

  private:
    struct Container {
        KnownTimes known;
        Millionths rate = 0;
        double recent_use = 0;    // of the whole card
        double waited_ns = 0;     // in this tick
        double busy = 0;          // likewise, with work of one kind, by the clock
        double wanted = 0;        // likewise, of the whole card
        bool wants_more = false;  // than it had
        bool is_at_work = false;  // it waits, has work in flight, or had some just now
        std::int64_t wanted_at_ns[kWorkKinds] = {};  // when it last did so of that kind
        bool is_busy[kWorkKinds] = {};               // with work of that kind in this tick
        bool is_pausing = false;                     // it had no work, or not much, in this tick
        bool is_pressing[kWorkKinds] = {};  // it had some of that kind, or waited, all of the time
        bool is_idle = true;                // none at all
        std::int64_t balance_ns[kWorkKinds] = {};
        std::int64_t balance_before_ns[kWorkKinds] = {};  // this tick
        std::int64_t unpaid_ns[kWorkKinds] = {};          // of the debt, that is beyond the largest
        std::int64_t used_ns[kWorkKinds] = {};
        std::int64_t busy_ns[kWorkKinds] = {};
        Millionths part[kWorkKinds] = {kWhole, kWhole};
    };

    // What a container had in flight in a tick, and of that its own.
    struct Use {
        double in_flight_ns;
        double own_ns;
        double busy_ns;  // by the clock: its processes' together
        double more_ns;  // without what was given back, in flight and own
        double more_own_ns;
    };

    static void remember(KnownTimes& known, std::int64_t now, const ContainerReading& reading);
    static void debit(Container& container, WorkKind kind, const Use& use, double tick_ns);
    void note_pauses(const std::map<Id, ContainerReading>& readings);
    void charge(WorkKind kind, std::int64_t now, const std::map<Id, ContainerReading>& readings);
    void pay(std::int64_t tick, const std::map<Id, ContainerReading>& readings);
    static void pay(Container& container, int kind, std::int64_t ns, bool has_ceiling);
    void note_at_work(std::int64_t now, const std::map<Id, ContainerReading>& readings);
    void forgive(std::int64_t now, const std::map<Id, ContainerReading>& readings);
    void share_out(const std::map<Id, ContainerReading>& readings);
    static Claim claim_of(const Container& container, const ContainerReading& reading,
                          double wanted);

    std::map<Id, Container> containers_;
    std::int64_t as_of_ns_ = 0;
};

}  // namespace tessera::guard

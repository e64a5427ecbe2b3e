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

#include "guard/arbiter/balance.hpp"
#include "guard/arbiter/container_reading.hpp"
#include "guard/arbiter/fill.hpp"
#include "guard/arbiter/use.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

class Arbiter {
  public:
    using Id = std::uint64_t;  // of a container; the same at every tick
    using Readings = std::map<Id, ContainerReading>;

    // The readings are of `now`. A container that is new begins with what it is sure of.
    std::map<Id, Granted> decide(std::int64_t now, const Readings& readings);
    // Of a container in the last readings, until the next ones; null of another.
    [[nodiscard]] const KnownTimes* known(Id id) const;
    // Nobody had work in the last tick, or waited.
    [[nodiscard]] bool is_quiet() const;
    // What a container has used of the card's time in all, since it was first seen.
    [[nodiscard]] std::int64_t used_ns(Id id, WorkKind kind) const;
    // How long any of its processes had work there, beside whomever. As above.
    [[nodiscard]] std::int64_t busy_ns(Id id, WorkKind kind) const;

  private:
    // What a container did between the last two readings.
    struct Did {
        struct OfKind {
            double used_ns = 0;
            double busy_ns = 0;        // it had work of that kind, by the clock
            bool is_pressing = false;  // it had, or waited for its turn, all of the time
        };

        OfKind of[kWorkKinds];
        double waited_ns = 0;
        bool has_waited = false;
        bool has_work = false;
        // It did not wait, and had no work for so long that it is not between two kernels.
        bool is_pausing = false;

        [[nodiscard]] double used_ns() const;  // of the kind of which it was more, as below
        [[nodiscard]] double busy_ns() const;
        // More than it had: it waited, or is pressing.
        [[nodiscard]] bool wants_more() const;
        [[nodiscard]] bool is_idle() const { return !has_waited && !has_work; }
    };

    struct Container {
        struct OfKind {
            Balance balance;
            Millionths part = kWhole;  // Use::part
            std::int64_t all_used_ns = 0;
            std::int64_t all_busy_ns = 0;
            std::int64_t wanted_at_ns = 0;  // when it last waited for it, or had some; 0: it is new
        };

        KnownTimes known;
        OfKind of[kWorkKinds];
        Did did;
        double recent_use = 0;  // of the whole card
        double wanted = 0;      // likewise, by who does not want more than he had
        // It waits, has work in flight, or had some within kBetweenNs.
        bool is_at_work = false;
        Millionths rate = 0;  // until the next reading
    };

    struct Member {
        Container& container;
        const ContainerReading& reading;
    };
    using Members = std::vector<Member>;

    Members members_of(const Readings& readings);
    static void note_use(WorkKind kind, Span period, const Members& members);
    static void note_pressing(double period_ns, Container& container);
    static void note_wishes(double period_ns, Container& container);
    static void pay(std::int64_t period_ns, const Members& members);
    static std::int64_t most_saved(const Container& container, const ContainerReading& reading,
                                   int kind);
    static void note_wanted(std::int64_t now, const Members& members);
    static void forgive(std::int64_t now, const Members& members);
    // Of late.
    static bool wants(const Container& container, int kind, std::int64_t now);
    static bool wants_any(const Container& container, std::int64_t now);
    static void share_out(std::int64_t now, const Members& members);
    static Claim claim_of(const Member& member, double wanted, bool comes_first);

    std::map<Id, Container> containers_;
    std::int64_t as_of_ns_ = 0;
};

}  // namespace tessera::guard

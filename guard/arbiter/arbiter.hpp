// Shares out a GPU's time among its containers, once per tick, from how long their processes had
// work in flight.
//
// A GPU runs the processes that have work in turn. So a process's own part of the time in which it
// had work is one divided by the number of processes that had work then (time_attribution.hpp),
// corrected for the GPU's time slices (time_slices.hpp). The arbiter knows that from the work
// intervals that the processes log. For time without logged intervals, it assumes that each
// process's work in the tick came independently of the others'. Of the GPU's time each container
// gets:
//   - its guarantee (`cores`), if it wants it;
//   - a part of the rest by weight (its cores, or kWeightOfNone without a guarantee), for as long
//     as it wants more, up to its compute limit. A container that wants nothing has no claim to it.
//
// Each container has a balance. The balance grows at that rate and sinks by what the container
// used. A container whose balance is not above zero waits (compute/permit/gate.hpp). So the next
// ticks correct the errors of a tick, and over time the shares are exact.
//
// Not thread-safe; use one per GPU.
#pragma once

#include <map>

#include "guard/arbiter/balance.hpp"
#include "guard/arbiter/container_reading.hpp"
#include "guard/arbiter/fill.hpp"
#include "guard/arbiter/time_slices.hpp"
#include "guard/arbiter/use.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

class Arbiter {
  public:
    using Id = std::uint64_t;  // of a container; must be the same at every tick
    using Readings = std::map<Id, ContainerReading>;

    explicit Arbiter(TimeSlices slices = {}) : slices_(slices) {}

    // The readings are as of `now`. A new container begins with its guarantee.
    std::map<Id, Granted> decide(std::int64_t now, const Readings& readings);
    // What is known of a container in the last readings, valid until the next ones; null for
    // another id.
    [[nodiscard]] const KnownTimes* known(Id id) const;
    // No container had work in the last tick, or waited.
    [[nodiscard]] bool is_quiet() const;
    // The GPU time that a container has used in all, since it was first seen.
    [[nodiscard]] std::int64_t used_ns(Id id, WorkKind kind) const;
    // How long any of the container's processes had work, no matter how many others did. Also since
    // it was first seen.
    [[nodiscard]] std::int64_t busy_ns(Id id, WorkKind kind) const;

  private:
    // What a container did between the last two readings.
    struct Did {
        struct OfKind {
            double used_ns = 0;
            double busy_ns = 0;        // time in which it had work of that kind, by the clock
            bool is_pressing = false;  // it had work or waited for a permit all of the time
        };

        OfKind of[kWorkKinds];
        double waited_ns = 0;
        bool has_waited = false;
        bool has_work = false;
        // It did not wait, and had no work for too long to be between two kernels.
        bool is_pausing = false;

        [[nodiscard]] double used_ns()
            const;  // of the kind of work with the larger value; also busy_ns()
        [[nodiscard]] double busy_ns() const;
        // It wants more than it had: it waited, or is pressing.
        [[nodiscard]] bool wants_more() const;
        [[nodiscard]] bool is_idle() const { return !has_waited && !has_work; }
    };

    struct Container {
        struct OfKind {
            Balance balance;
            Millionths part = kWhole;  // Use::part
            std::int64_t all_used_ns = 0;
            std::int64_t all_busy_ns = 0;
            std::int64_t wanted_at_ns =
                0;  // when it last waited for this kind, or had some; 0: it is new
        };

        KnownTimes known;
        OfKind of[kWorkKinds];
        Did did;
        double recent_use = 0;  // of the whole GPU
        double wanted = 0;      // of the whole GPU, if it does not want more than it had
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
    void note_use(WorkKind kind, Span period, const Members& members);
    static void note_pressing(double period_ns, Container& container);
    static void note_demand(double period_ns, Container& container);
    static void pay(std::int64_t period_ns, const Members& members);
    static std::int64_t most_saved(const Container& container, const ContainerReading& reading,
                                   int kind);
    static void note_wanted(std::int64_t now, const Members& members);
    static void forgive(std::int64_t now, const Members& members);
    // Within the last kUnwantedNs.
    static bool wants(const Container& container, int kind, std::int64_t now);
    static bool wants_any(const Container& container, std::int64_t now);
    static void share_out(std::int64_t now, const Members& members);
    static Claim claim_of(const Member& member, double wanted, bool comes_first);

    std::map<Id, Container> containers_;
    std::int64_t as_of_ns_ = 0;
    const TimeSlices slices_;
};

}  // namespace tessera::guard

// What every part of a run shares: time, chance, the journal, and which faults may strike.
#pragma once

#include <array>

#include "testing/simulation/journal.hpp"
#include "testing/simulation/loop.hpp"
#include "testing/simulation/rng.hpp"

namespace tessera::simulation {

using namespace std::chrono_literals;

// Faults that stand for something that the product does not promise yet (docs/simulation.md). Off
// unless asked for.
struct Unpromised {
    // A controller that is frozen between the check of its Lease and the write, and goes on when
    // the Lease is another's.
    bool frozen_leader = false;
    // Without an election, a write that lands after its writer was killed and replaced.
    bool write_without_lease = false;
};

struct Scene {
    Scene(std::uint64_t seed, bool keep_log, Unpromised switches)
        : rng(seed), loop(rng), journal(keep_log), unpromised(switches) {}

    Rng rng;
    Loop loop;
    Journal journal;
    const Unpromised unpromised;
    // Per thousand occasions; 0 once the faults have stopped.
    std::array<std::uint64_t, kFaultNames.size()> rates{};
    bool election = false;    // several controllers, and a Lease that says which may write
    bool priorities = false;  // pods have some, and those of lower ones end for others
    bool over = false;        // the run has ended, and its parts are being taken down
    bool troubled = true;     // faults may strike
    int slowness = 1;  // of all networks; the slower, the more happens between question and answer

    Time delay(Time usual) { return rng.delay(usual * slowness); }

    // Draws whether the fault strikes on this occasion, and counts it when it does.
    // `times`: how much likelier than usual.
    bool strikes(Fault fault, std::uint64_t times = 1) {
        const std::uint64_t rate = rates[static_cast<std::size_t>(fault)] * times;
        if (!troubled || rate == 0 || !rng.chance(rate)) return false;
        struck(fault, "");
        return true;
    }
    void struck(Fault fault, std::string_view whom) {
        journal.count(fault);
        note("fault", [&] {
            return std::string(kFaultNames.at(static_cast<std::size_t>(fault))) +
                   (whom.empty() ? "" : " ") + std::string(whom);
        });
    }
    template <class Text>
    void note(std::string_view part, const Text& text) {
        journal.note(loop.now(), part, text);
    }
};

}  // namespace tessera::simulation

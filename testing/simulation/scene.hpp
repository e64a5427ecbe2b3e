// The state that all components of a run share: time, random numbers, the journal, and the faults.
#pragma once

#include <array>
#include <string_view>

#include "testing/simulation/journal.hpp"
#include "testing/simulation/loop.hpp"
#include "testing/simulation/rng.hpp"

namespace tessera::simulation {

using namespace std::chrono_literals;

// Faults against which the product does not protect yet (docs/internals/simulation.md). Off by
// default.
struct UnprotectedFaults {
    // A controller is frozen between the check of its Lease and the write, and continues when
    // another controller has the Lease.
    bool frozen_leader = false;
    // Without an election, a write takes effect after its writer was killed and replaced.
    bool write_without_lease = false;
};

// spec.schedulerName of every pod.
inline constexpr std::string_view kSchedulerName = "default-scheduler";

struct Scene {
    Scene(std::uint64_t seed, bool keep_log, UnprotectedFaults switches)
        : rng(seed), loop(rng), journal(keep_log), unpromised(switches) {}

    Rng rng;
    Loop loop;
    Journal journal;
    const UnprotectedFaults unpromised;
    // Probability of each fault per thousand occasions. Applies only while `has_faults` is true.
    std::array<std::uint64_t, kFaultNames.size()> rates{};
    bool election = false;  // there are several controllers, and the holder of a Lease may write
    // Each replica has a kube-scheduler of its own, and only the leading one works (its replica).
    bool scheduler_mode = false;
    int leading_scheduler = 0;
    bool nominates = false;  // the leader nominates pods ahead of their turn
    // kube-scheduler is one up to Kubernetes 1.34, which clears the nominations of failed pods.
    bool clears_nominations = false;
    bool priorities = false;  // pods have priorities, and may be evicted for higher ones
    bool has_mps = false;     // nodes offer MPS, and some pods use it
    bool over = false;        // the run has ended, and its components are being destroyed
    bool has_faults = true;   // faults may strike
    int slowness = 1;         // factor on all network delays, so that more happens during a request

    Time delay(Time usual) { return rng.delay(usual * slowness); }

    // Draws whether the fault strikes on this occasion, and counts it if it does.
    // `times`: factor on its probability.
    bool strikes(Fault fault, std::uint64_t times = 1) {
        const std::uint64_t rate = rates[static_cast<std::size_t>(fault)] * times;
        if (!has_faults || rate == 0 || !rng.chance(rate)) return false;
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

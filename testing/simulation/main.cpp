// The simulation: runs seeds, counts what happened, and prints how to replay a failed one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "testing/simulation/run.hpp"

namespace tessera::simulation {
namespace {

struct Flags {
    std::uint64_t seeds = 200;
    std::uint64_t first = 1;
    std::optional<std::uint64_t> seed;
    bool log = false;
    bool expect_violation = false;
    unsigned jobs = 1;
    UnprotectedFaults unpromised;
};

struct Report {
    std::uint64_t seeds = 0;
    Outcome sum;
    std::vector<Outcome> broken;  // ascending by seed
    double seconds = 0;
};

// A failed check in the product aborts the program. Then only the seed can be printed.
thread_local std::uint64_t seed_of_thread = 0;

extern "C" void say_seed(int) {
    char text[80];
    const auto end = fmt::format_to_n(text, sizeof text, "aborted in seed {}\n", seed_of_thread);
    std::fwrite(text, 1, end.size, stderr);
    std::signal(SIGABRT, SIG_DFL);
}

void add(Outcome& sum, const Outcome& one) {
    sum.steps += one.steps;
    sum.simulated += one.simulated;
    sum.pods += one.pods;
    sum.bound += one.bound;
    sum.started += one.started;
    sum.evicted += one.evicted;
    sum.nominated += one.nominated;
    sum.followed += one.followed;
    sum.orphans_met += one.orphans_met;
    sum.orphans_started += one.orphans_started;
    for (std::size_t i = 0; i < sum.faults.size(); ++i)
        sum.faults.at(i) += one.faults.at(i);
}

Report run_seeds(const Flags& flags) {
    Report report;
    std::mutex mutex;  // of the report
    std::atomic<std::uint64_t> next = flags.first;
    std::atomic<bool> enough = false;
    const auto begin = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < flags.jobs; ++i) {
            threads.emplace_back([&] {
                while (!enough) {
                    const std::uint64_t seed = next++;
                    if (seed >= flags.first + flags.seeds) return;
                    seed_of_thread = seed;
                    Outcome one = run({.seed = seed, .unpromised = flags.unpromised});
                    const std::scoped_lock lock(mutex);
                    ++report.seeds;
                    add(report.sum, one);
                    if (one.violation.empty()) continue;
                    report.broken.push_back(std::move(one));
                    // With --expect-violation the first violation is enough.
                    enough = flags.expect_violation;
                }
            });
        }
    }
    std::ranges::sort(report.broken, {}, &Outcome::seed);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    report.seconds = took.count();
    return report;
}

void print(const Report& report) {
    const Outcome& sum = report.sum;
    fmt::print("seeds {}, steps {}, simulated {} hours, took {:.1f} s\n", report.seeds, sum.steps,
               sum.simulated.count() / 3'600'000'000'000, report.seconds);
    fmt::print("pods {}, bound {}, containers {}, evicted {}\n", sum.pods, sum.bound, sum.started,
               sum.evicted);
    fmt::print("nominations {}, bound there {}\n", sum.nominated, sum.followed);
    fmt::print("started beside an orphaned container {}, orphaned {}\n", sum.orphans_met,
               sum.orphans_started);
    fmt::print("faults:\n");
    for (std::size_t i = 0; i < sum.faults.size(); ++i)
        fmt::print("  {:<20} {:>9}\n", kFaultNames.at(i), sum.faults.at(i));
    fmt::print("violations {}\n", report.broken.size());
    for (const Outcome& one : report.broken)
        fmt::print("seed {} {}\n  replay: --seed {} --log\n", one.seed, one.violation, one.seed);
}

int run_one(const Flags& flags) {
    seed_of_thread = *flags.seed;
    const Outcome one =
        run({.seed = *flags.seed, .keep_log = flags.log, .unpromised = flags.unpromised});
    fmt::print("{}seed {}, steps {}: {}\n", one.log, one.seed, one.steps,
               one.violation.empty() ? "no violation" : one.violation);
    return one.violation.empty() ? 0 : 1;
}

int main_of(int argc, char** argv) {
    Flags flags;
    CLI::App app("Tessera's controller and agents in simulated time, with faults");
    app.add_option("--seeds", flags.seeds, "number of runs");
    app.add_option("--first", flags.first, "the first seed");
    app.add_option("--seed", flags.seed, "run only this seed");
    app.add_flag("--log", flags.log, "with --seed: print what happened");
    app.add_option("--jobs", flags.jobs, "number of threads");
    app.add_flag("--expect-violation", flags.expect_violation,
                 "stop at the first broken invariant; fail if there is none");
    app.add_flag("--frozen-leader", flags.unpromised.frozen_leader,
                 "freeze a leader between the check of its Lease and the write");
    app.add_flag("--write-without-lease", flags.unpromised.write_without_lease,
                 "without an election: let writes take effect after their writer was killed and "
                 "replaced");
    CLI11_PARSE(app, argc, argv);
    std::signal(SIGABRT, say_seed);
    if (flags.seed) return run_one(flags);
    const Report report = run_seeds(flags);
    print(report);
    return report.broken.empty() == flags.expect_violation ? 1 : 0;
}

}  // namespace
}  // namespace tessera::simulation

int main(int argc, char** argv) {
    return tessera::simulation::main_of(argc, argv);
}

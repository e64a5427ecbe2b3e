// How exactly a GPU's time is shared out: what each container got in every second and in ten
// seconds, compared with what it was given, and what the arbiter costs. It runs on the simulated
// driver, whose clock says exactly which process had the GPU.
//
// Goals: docs/internals/guard.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "guard/bench/tick_cost.hpp"
#include "guard/test_support/measured_shares.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMicrosecond;
using gpusim::kMillisecond;

constexpr int kSeconds = 10;

struct Figure {
    std::string name;
    double goal;
    double measured;
    const char* unit;

    [[nodiscard]] bool holds() const { return measured <= goal; }
};

bool print(const Figure& figure) {
    std::printf("%s | <= %g %s | %.2f %s | %s\n", figure.name.c_str(), figure.goal, figure.unit,
                figure.measured, figure.unit, figure.holds() ? "holds" : "falls short");
    return figure.holds();
}

bool print_all(const std::vector<Figure>& figures) {
    bool holds = true;
    for (const Figure& figure : figures)
        holds &= print(figure);
    return holds;
}

struct Row {
    std::string name;
    gpusim::Engine engine = gpusim::Engine::compute;
    TimeSlices slices = kNoTimeSlices;
};

struct Result {
    double worst_second = 0;  // points off
    double worst_of_all = 0;
    std::vector<double> got;  // percent
    double arbiter_percent = 0;
    double starved_percent = 0;  // of the tenant that was kept from running for longest
};

Result measure(const std::vector<SharingTenant>& tenants, const Row& row) {
    const Measured measured = measure_shares(tenants, {.window = std::chrono::seconds(1),
                                                       .windows = kSeconds,
                                                       .engine = row.engine,
                                                       .slices = row.slices});
    const auto& seconds = measured.percents;
    Result result;
    result.arbiter_percent = measured.arbiter_percent;
    result.starved_percent = std::ranges::max(measured.starved_percents);
    for (std::size_t i = 0; i < tenants.size(); i++) {
        double sum = 0;
        for (const auto& second : seconds) {
            result.worst_second =
                std::max(result.worst_second, std::abs(second[i] - tenants[i].expected));
            sum += second[i];
        }
        const double mean = sum / kSeconds;
        result.worst_of_all = std::max(result.worst_of_all, std::abs(mean - tenants[i].expected));
        result.got.push_back(mean);
    }
    return result;
}

// Only rows with this text in their name are measured.
std::string wanted;

bool is_wanted(const std::string& name) {
    return name.find(wanted) != std::string::npos;
}

void print_shares(const std::string& name, const Result& result, bool again) {
    std::string got;
    for (const double percent : result.got) {
        char text[16];
        std::snprintf(text, sizeof text, "%s%.1f", got.empty() ? "" : " : ", percent);
        got += text;
    }
    std::printf("# %s: %s; had no core for %.0f %%%s\n", name.c_str(), got.c_str(),
                result.starved_percent, again ? ": measured again" : "");
}

// A tenant without a core cannot use what it is given, and that is not the guard's fault. A row
// that falls short then is measured again; the third result counts in any case.
bool row(const Row& row, const std::vector<SharingTenant>& tenants,
         const std::function<std::vector<Figure>(const Result&)>& figures_of) {
    constexpr int kTries = 3;
    constexpr double kStarvedPercent = 5;
    if (!is_wanted(row.name)) return true;
    for (int tried = 1;; tried++) {
        const Result result = measure(tenants, row);
        const std::vector<Figure> figures = figures_of(result);
        const bool again = tried < kTries && result.starved_percent > kStarvedPercent &&
                           !std::ranges::all_of(figures, &Figure::holds);
        print_shares(row.name, result, again);
        if (!again) return print_all(figures);
    }
}

bool bench(const std::string& name, const std::vector<SharingTenant>& tenants,
           gpusim::Engine engine = gpusim::Engine::compute, double in_a_second = 2) {
    return row({.name = name, .engine = engine}, tenants, [&](const Result& result) {
        return std::vector<Figure>{
            {name + ", worst second", in_a_second, result.worst_second, "points"},
            {name + ", ten seconds", 1, result.worst_of_all, "points"}};
    });
}

// A tenant that waits for each kernel cannot use all of nine tenths, so only the ratio is judged.
bool bench_ratio(const std::string& name, const Workload& work) {
    return row({.name = name}, {{{10, 10}, work, 10}, {{90, 90}, work, 90}},
               [&](const Result& result) {
                   const double off = 100 * std::abs(result.got[1] / result.got[0] / 9 - 1);
                   return std::vector<Figure>{{name + ", off 1:9", 10, off, "%"}};
               });
}

// One tick. The agent makes one for each GPU every 5 to 10 ms.
bool bench_ticks() {
    if (!is_wanted("a tick")) return true;
    return print_all({
        {"a tick, sixteen containers of one process", 1, tick_ms(1, 1, 100), "ms"},
        {"a tick, 64 processes x 32 intervals beside 15 others", 1, tick_ms(64, 1, 100), "ms"},
        {"a tick, 1,023 slots x 32 intervals beside 15 others", 10, tick_ms(kOrphanSlot, 1, 50),
         "ms"},
    });
}

bool bench_slices(const std::string& name, const std::vector<SharingTenant>& tenants) {
    return row({.name = name + " in time slices", .slices = TimeSlices{}}, tenants,
               [&](const Result& result) {
                   return std::vector<Figure>{
                       {name + " in time slices, worst second", 4, result.worst_second, "points"},
                       {name + " in time slices, ten seconds", 2, result.worst_of_all, "points"}};
               });
}

// On a GPU that gives time slices of 2 ms, as real ones do.
bool bench_in_slices() {
    const auto two = [](const Workload& first, const Workload& second, unsigned percent) {
        return std::vector<SharingTenant>{{{percent, 100}, first, static_cast<double>(percent)},
                                          {{100 - percent, 100}, second, 100.0 - percent}};
    };
    const Workload one_ms = free_running(kMillisecond);
    const Workload small = free_running(50 * kMicrosecond);
    bool holds = bench_slices("10:90 of 1 ms", two(one_ms, one_ms, 10));
    holds &= bench_slices("30:70 of 1 ms", two(one_ms, one_ms, 30));
    holds &= bench_slices("30:70 of 50 us", two(small, small, 30));
    holds &= bench_slices("30 that waits for 1 ms, beside 70 of 1 ms",
                          two(launch_and_wait(kMillisecond), one_ms, 30));
    holds &=
        bench_slices("30 of 60 ms, beside 70 of 200 us",
                     two(free_running(60 * kMillisecond), free_running(200 * kMicrosecond), 30));
    return holds;
}

bool bench_crowd() {
    const std::vector<SharingTenant> many(16,
                                          {{6, 100}, free_running(500 * kMicrosecond), 100.0 / 16});
    return row({.name = "sixteen alike"}, many, [](const Result& result) {
        return std::vector<Figure>{
            {"sixteen alike, ten seconds", 1, result.worst_of_all, "points"},
            {"sharing out a GPU among sixteen", 3, result.arbiter_percent, "% of a core"}};
    });
}

// A container is charged for the time in which any of its work is on the GPU, however that is
// divided over streams and threads.
bool bench_streams() {
    const SharingTenant rest = {{80, 80}, free_running(kMillisecond), 80};
    const auto alone = [](const std::string& name, const Workload& work) {
        return bench("20 alone, " + name, {{{20, 20}, work, 20}});
    };
    const auto beside = [&](const std::string& name, const Workload& work) {
        return bench("20:80, " + name, {{{20, 20}, work, 20}, rest});
    };
    bool holds = alone("2 streams of 500 us", over_streams(2, 500 * kMicrosecond));
    holds &= alone("8 streams of 100 us", over_streams(8, 100 * kMicrosecond));
    holds &= alone("16 streams of 500 us", over_streams(16, 500 * kMicrosecond));
    holds &= alone("8 streams of 5 ms", over_streams(8, 5 * kMillisecond));
    holds &= alone("4 streams of 100 us, waited for", over_streams(4, 100 * kMicrosecond, true));
    holds &= alone("2 streams joined by events, 200 us", across_streams(200 * kMicrosecond));
    holds &= alone("2 streams fed by copies, 500 us", fed_by_copies(500 * kMicrosecond));
    holds &= alone("500 us among host functions of 500 us",
                   among_host_functions(500 * kMicrosecond, 500 * kMicrosecond));
    holds &= alone("4 threads of a stream each", in_threads(4, 300 * kMicrosecond, false));
    holds &= alone("4 threads' default streams", in_threads(4, 300 * kMicrosecond, true));
    holds &= alone("16 threads that launch and wait, 30 ms",
                   in_threads(16, 30 * kMillisecond, false, true));
    holds &= beside("2 streams of 500 us", over_streams(2, 500 * kMicrosecond));
    holds &= beside("8 streams of 100 us", over_streams(8, 100 * kMicrosecond));
    return holds;
}

// The charge is for what the GPU did, and not for the pauses between launches. If launches differ a
// lot in length, the charge within a second is partly random.
bool bench_busy_launching() {
    const Workload even = busy_launching({50 * kMicrosecond}, 100 * kMicrosecond);
    std::vector<std::uint64_t> lengths(15, 20 * kMicrosecond);
    lengths.push_back(400 * kMicrosecond);
    const Workload uneven = busy_launching(lengths, 100 * kMicrosecond);
    bool holds = bench("30 alone, busy launching", {{{30, 30}, even, 30}});
    holds &= bench("30 alone, busy launching, uneven", {{{30, 30}, uneven, 30}},
                   gpusim::Engine::compute, 10);
    holds &= bench("30:70, busy launching",
                   {{{30, 30}, even, 30}, {{70, 70}, free_running(kMillisecond), 70}});
    return holds;
}

// A copy that waits is charged for what the copy engine did. A kernel that it waits for is charged
// for the kernel's own time.
bool bench_waited_copies() {
    constexpr std::size_t kKiB = 1024;
    const SharingTenant rest = {{80, 80}, copies(1024 * kKiB), 80};
    bool holds = true;
    for (const std::size_t size : {256, 1024, 16384}) {
        const std::string name = std::to_string(size) + " KiB that wait";
        holds &= bench("20 alone, copies of " + name, {{{20, 20}, waited_copies(size * kKiB), 20}},
                       gpusim::Engine::copies);
    }
    for (const std::uint64_t us : {50, 100}) {
        const std::string name = std::to_string(us) + " us and a number fetched";
        holds &= bench("20 alone, " + name,
                       {{{20, 20}, waited_copies(4 * kKiB, us * kMicrosecond), 20}});
    }
    holds &= bench("20:80, copies of 1 MiB that wait", {{{20, 20}, waited_copies(1024 * kKiB), 20}},
                   gpusim::Engine::copies);
    return holds;
}

// Each process launches one kernel. Processes take time to start, so they may want less than their
// part. What they used is known once each has ended.
bool bench_ending(const std::string& name, int at_once, std::uint64_t ns) {
    const std::vector<SharingTenant> tenants = {{{20, 20}, {}, 20, at_once, ns},
                                                {{80, 80}, free_running(kMillisecond), 80}};
    return row({.name = name}, tenants, [&](const Result& result) {
        return std::vector<Figure>{{name + ", above their compute limit, ten seconds", 1,
                                    std::max(0.0, result.got[0] - 20), "points"},
                                   {name + ", taken from the neighbour, ten seconds", 1,
                                    std::max(0.0, 80 - result.got[1]), "points"}};
    });
}

bool bench_processes() {
    const SharingTenant rest = {{80, 80}, free_running(kMillisecond), 80};
    bool holds = bench("20:80, 8 processes", {{{20, 20}, free_running(kMillisecond), 20, 8}, rest});
    holds &= bench("20:80, 8 processes that launch and wait, 5 ms",
                   {{{20, 20}, launch_and_wait(5 * kMillisecond), 20, 8}, rest});
    holds &= bench("20:80, 16 processes that launch and wait, 30 ms",
                   {{{20, 20}, launch_and_wait(30 * kMillisecond), 20, 16}, rest});
    holds &= bench_ending("20:80, a process for each kernel of 1 ms", 1, kMillisecond);
    holds &= bench_ending("20:80, 16 processes for kernels of 20 ms", 16, 20 * kMillisecond);
    holds &= bench_ending("20:80, 60 processes for kernels of 20 ms", 60, 20 * kMillisecond);
    return holds;
}

bool bench_idlers() {
    std::vector<SharingTenant> tenants = {{{40, 60}, free_running(kMillisecond), 60},
                                          {{15, 100}, free_running(kMillisecond), 40}};
    tenants.resize(18, {{0, 100}, idle(), 0});
    bool holds = bench("40 up to 60 beside 15, and 16 idle ones", tenants);
    tenants.erase(tenants.begin());
    tenants[0].expected = 100;
    holds &= bench("15 alone, and 16 idle ones", tenants);
    return holds;
}

// Kernels, for each of which the tenant waits, and then a rest.
struct Bursts {
    const char* name;
    int kernels;
    std::uint64_t each_ns;
    int rest_ms;
};

// One tenant always wants the GPU and has a guarantee of `sure` percent. The other has bursts and
// is guaranteed the rest. `judge` gets the name of the row.
bool bench_beside_bursts(unsigned sure, const Bursts& it, const auto& judge) {
    const unsigned rest = 100 - sure;
    const std::string name =
        std::to_string(sure) + " beside " + std::to_string(rest) + " of " + it.name;
    return row({.name = name},
               {{{sure, 100}, free_running(kMillisecond), 0},
                {{rest, 100}, bursts(it.kernels, it.each_ns, it.rest_ms), 0}},
               [&](const Result& result) { return std::vector<Figure>{judge(name, result)}; });
}

// The first tenant must get what the other leaves,
bool bench_comes_and_goes() {
    const auto idle = [](const std::string& name, const Result& result) {
        return Figure{name + ", idle", 5, 100 - result.got[0] - result.got[1], "% of the GPU"};
    };
    bool holds = true;
    for (const Bursts& it : {Bursts{"5 ms in each 50", 1, 5 * kMillisecond, 45},
                             Bursts{"20 of 1 ms, then 50 ms of rest", 20, kMillisecond, 50},
                             Bursts{"50 ms, then 200 ms of rest", 1, 50 * kMillisecond, 200},
                             Bursts{"2 s, then 1 s of rest", 2000, kMillisecond, 1000}})
        holds &= bench_beside_bursts(25, it, idle);
    return holds;
}

// and its guarantee.
bool bench_rests() {
    const auto taken = [](const std::string& name, const Result& result) {
        return Figure{name + ", taken from it, ten seconds", 3, std::max(0.0, 90 - result.got[0]),
                      "points"};
    };
    bool holds = true;
    for (const Bursts& it : {Bursts{"5 of 1 ms, then 8 ms of rest", 5, kMillisecond, 8},
                             Bursts{"1 ms, then 4 ms of rest", 1, kMillisecond, 4}})
        holds &= bench_beside_bursts(90, it, taken);
    return holds;
}

bool bench_all() {
    bool holds = bench_ticks();
    holds &= bench_in_slices();
    holds &= bench("10:90 free-running", {{{10, 10}, free_running(kMillisecond), 10},
                                          {{90, 90}, free_running(kMillisecond), 90}});
    holds &= bench_ratio("10:90 launch and wait, 1 ms", launch_and_wait(kMillisecond));
    holds &= bench("20 of launch and wait, 100 us",
                   {{{20, 20}, launch_and_wait(100 * kMicrosecond), 20}});
    holds &= bench("30:70 of 50 us", {{{30, 30}, free_running(50 * kMicrosecond), 30},
                                      {{70, 70}, free_running(50 * kMicrosecond), 70}});
    holds &= bench("30:70 of 20 ms and 200 us", {{{30, 30}, free_running(20 * kMillisecond), 30},
                                                 {{70, 70}, free_running(200 * kMicrosecond), 70}});
    holds &= bench("20:30:50 of each kind of launch", {{{20, 20}, graphs(100 * kMicrosecond), 20},
                                                       {{30, 30}, cooperative(kMillisecond), 30},
                                                       {{50, 50}, launch_ex(kMillisecond), 50}});
    holds &= bench_crowd();
    holds &= bench("30 and an unlimited neighbour", {{{30, 30}, free_running(kMillisecond), 30},
                                                     {{0, 100}, free_running(kMillisecond), 70}});
    holds &= bench("25 alone", {{{25, 25}, free_running(kMillisecond), 25}});
    holds &= bench("20 of copies of 1 MiB", {{{20, 20}, copies(std::size_t{1} << 20), 20}},
                   gpusim::Engine::copies);
    holds &= bench_waited_copies();
    holds &= bench_streams();
    holds &= bench_busy_launching();
    holds &= bench_processes();
    holds &= bench_idlers();
    holds &= bench_comes_and_goes();
    holds &= bench_rests();
    return holds;
}

}  // namespace
}  // namespace tessera::guard

// With an argument: only rows with that text in their name.
int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (count > 1) tessera::guard::wanted = arguments[1];
    std::printf("figure | goal | measured | holds\n");
    try {
        return tessera::guard::bench_all() ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "guard_shares_bench: %s\n", error.what());
        return 2;
    }
}

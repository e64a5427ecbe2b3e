// What containers get of a card, window by window, whose processes work without end.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "guard/test_support/ending_processes.hpp"
#include "guard/test_support/shared_card.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {

struct SharingTenant {
    ShareOfTime share;
    Workload work;
    double expected;    // percent of the card
    int processes = 1;  // at once
    // Not 0: each process ends after one kernel of so long, without the work above, and there is
    // another.
    std::uint64_t ending_ns = 0;
};

struct Measuring {
    std::chrono::milliseconds after{1000};
    std::chrono::milliseconds window{2500};
    int windows = 1;
    gpusim::Engine engine = gpusim::Engine::compute;
};

// How long the threads of a process have been ready to run, and had no core: only so much of the
// card's time can they lose for the machine's sake. Source: /proc/PID/task/TID/schedstat.
inline std::int64_t starved_ns(pid_t pid) {
    std::int64_t sum = 0;
    std::error_code gone;
    const auto tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
        std::ifstream file(task.path() / "schedstat");
        std::int64_t ran = 0;
        std::int64_t waited = 0;
        if (file >> ran >> waited) sum += waited;
    }
    return sum;
}

// Of the machine's cores together, that another machine had: in nobody's schedstat.
inline std::int64_t stolen_ns() {
    std::ifstream file("/proc/stat");
    std::string name;
    std::int64_t of[8] = {};
    file >> name;
    for (std::int64_t& each : of)
        file >> each;
    return of[7] * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

struct Measured {
    std::vector<std::vector<double>> percents;  // of the card: [window][tenant]
    // Of all windows together, that each tenant and the arbiter were kept from running.
    std::vector<double> starved_percents;
    double arbiter_percent = 0;  // of a core
};

// What each tenant got of the card in each window.
inline Measured measure_shares(const std::vector<SharingTenant>& tenants,
                               const Measuring& measuring) {
    std::vector<ShareOfTime> shares;
    shares.reserve(tenants.size());
    for (const SharingTenant& tenant : tenants)
        shares.push_back(tenant.share);
    const SharedCard card(shares);
    std::vector<std::vector<std::unique_ptr<gpusim::Peer>>> peers(tenants.size());
    const std::vector<Tally> tallies(tenants.size());
    for (std::size_t i = 0; i < tenants.size(); i++) {
        if (tenants[i].ending_ns != 0) {
            peers[i].push_back(start_ending(card.container(i), tenants[i].processes,
                                            tenants[i].ending_ns, tallies[i]));
            continue;
        }
        for (int process = 0; process < tenants[i].processes; process++)
            peers[i].push_back(start_worker(card.container(i), tenants[i].work));
    }
    std::this_thread::sleep_for(measuring.after);
    Measured measured;
    const auto used = [&](std::int64_t now) {
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (std::size_t i = 0; i < peers.size(); i++) {
            std::int64_t sum = tallies[i].ns();
            for (const auto& peer : peers[i])
                sum += card.used_ns(peer->pid(), measuring.engine, now);
            of.push_back(sum);
        }
        return of;
    };
    const auto starved = [&] {
        const std::int64_t for_all = starved_ns(getpid()) + stolen_ns();
        std::vector<std::int64_t> of;
        of.reserve(peers.size());
        for (const auto& of_tenant : peers) {
            std::int64_t sum = for_all;
            for (const auto& peer : of_tenant)
                sum += starved_ns(peer->pid());
            of.push_back(sum);
        }
        return of;
    };
    const std::vector<std::int64_t> starved_before = starved();
    const std::int64_t began = monotonic_ns();
    const std::int64_t cpu_before = card.arbiter_cpu_ns();
    std::int64_t start = began;
    std::vector<std::int64_t> before = used(start);
    for (int window = 0; window < measuring.windows; window++) {
        std::this_thread::sleep_for(measuring.window);
        const std::int64_t end = monotonic_ns();
        const std::vector<std::int64_t> after = used(end);
        std::vector<double>& percents = measured.percents.emplace_back();
        for (std::size_t i = 0; i < tenants.size(); i++) {
            percents.push_back(100.0 * static_cast<double>(after[i] - before[i]) /
                               static_cast<double>(end - start));
        }
        start = end;
        before = after;
    }
    const std::vector<std::int64_t> starved_after = starved();
    for (std::size_t i = 0; i < tenants.size(); i++) {
        measured.starved_percents.push_back(
            100.0 * static_cast<double>(starved_after[i] - starved_before[i]) /
            static_cast<double>(monotonic_ns() - began));
    }
    measured.arbiter_percent = 100.0 * static_cast<double>(card.arbiter_cpu_ns() - cpu_before) /
                               static_cast<double>(monotonic_ns() - began);
    return measured;
}

}  // namespace tessera::guard

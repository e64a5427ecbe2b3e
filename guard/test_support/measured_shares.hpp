// Measures what containers get of a GPU in each window, while their processes always have work.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "guard/test_support/ending_processes.hpp"
#include "guard/test_support/percents_of_all.hpp"
#include "guard/test_support/shared_gpu.hpp"
#include "guard/test_support/starvation.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {

struct SharingTenant {
    ShareOfTime share;
    Workload work;
    double expected;    // percent of the GPU
    int processes = 1;  // at the same time
    // If not 0, each process runs one kernel of this length instead of `work` and ends, and another
    // one starts.
    std::uint64_t ending_ns = 0;
};

struct Measuring {
    std::chrono::milliseconds after{1000};
    std::chrono::milliseconds window{2500};
    int windows = 1;
    gpusim::Engine engine = gpusim::Engine::compute;
    TimeSlices slices = kNoTimeSlices;
};

struct Measured {
    // Of the GPU; with time slices, of what all tenants got together: [window][tenant].
    std::vector<std::vector<double>> percents;
    // How long each tenant and the arbiter were kept from running, over all windows.
    std::vector<double> starved_percents;
    double arbiter_percent = 0;  // of one core
};

// The processes of containers that share a GPU. They run as long as this object lives.
class RunningTenants {
  public:
    RunningTenants(const std::vector<SharingTenant>& tenants, TimeSlices slices)
        : gpu_(shares_of(tenants), slices), children_(tenants.size()), tallies_(tenants.size()) {
        for (std::size_t i = 0; i < tenants.size(); i++) {
            const SharingTenant& tenant = tenants[i];
            if (tenant.ending_ns != 0) {
                children_[i].push_back(start_ending(gpu_.container(i), tenant.processes,
                                                    tenant.ending_ns, tallies_[i]));
                continue;
            }
            for (int process = 0; process < tenant.processes; process++)
                children_[i].push_back(start_worker(gpu_.container(i), tenant.work));
        }
    }

    // The used time of an engine in all, by tenant.
    [[nodiscard]] std::vector<std::int64_t> used(gpusim::Engine engine, std::int64_t now) const {
        return by_tenant([&](std::size_t i) { return tallies_[i].ns().load(); },
                         [&](pid_t pid) { return gpu_.used_ns(pid, engine, now); });
    }
    // How long each tenant, or the arbiter, was kept from running.
    [[nodiscard]] std::vector<std::int64_t> starved() const {
        const std::int64_t for_all = starved_ns(getpid()) + stolen_ns();
        return by_tenant([&](std::size_t) { return for_all; }, starved_ns);
    }
    [[nodiscard]] std::int64_t arbiter_cpu_ns() const { return gpu_.arbiter_cpu_ns(); }

  private:
    static std::vector<ShareOfTime> shares_of(const std::vector<SharingTenant>& tenants) {
        std::vector<ShareOfTime> shares;
        shares.reserve(tenants.size());
        for (const SharingTenant& tenant : tenants)
            shares.push_back(tenant.share);
        return shares;
    }
    [[nodiscard]] std::vector<std::int64_t> by_tenant(const auto& of_tenant,
                                                      const auto& of_process) const {
        std::vector<std::int64_t> all;
        all.reserve(children_.size());
        for (std::size_t i = 0; i < children_.size(); i++) {
            std::int64_t sum = of_tenant(i);
            for (const auto& child : children_[i])
                sum += of_process(child->pid());
            all.push_back(sum);
        }
        return all;
    }

    const SharedGpu gpu_;
    std::vector<std::vector<std::unique_ptr<gpusim::ChildProcess>>> children_;
    const std::vector<Tally> tallies_;
};

// What each tenant gets of the GPU in each window.
inline Measured measure_shares(const std::vector<SharingTenant>& tenants,
                               const Measuring& measuring) {
    const RunningTenants running(tenants, measuring.slices);
    std::this_thread::sleep_for(measuring.after);
    const auto percent = [](std::int64_t ns, std::int64_t of_ns) {
        return 100.0 * static_cast<double>(ns) / static_cast<double>(of_ns);
    };
    Measured measured;
    const std::vector<std::int64_t> starved_before = running.starved();
    const std::int64_t cpu_before = running.arbiter_cpu_ns();
    const std::int64_t began = monotonic_ns();
    std::int64_t start = began;
    std::vector<std::int64_t> before = running.used(measuring.engine, start);
    for (int window = 0; window < measuring.windows; window++) {
        std::this_thread::sleep_for(measuring.window);
        const std::int64_t end = monotonic_ns();
        const std::vector<std::int64_t> after = running.used(measuring.engine, end);
        std::vector<double>& percents = measured.percents.emplace_back();
        for (std::size_t i = 0; i < tenants.size(); i++)
            percents.push_back(percent(after[i] - before[i], end - start));
        start = end;
        before = after;
    }
    const std::vector<std::int64_t> starved_after = running.starved();
    const std::int64_t took = monotonic_ns() - began;
    for (std::size_t i = 0; i < tenants.size(); i++)
        measured.starved_percents.push_back(percent(starved_after[i] - starved_before[i], took));
    measured.arbiter_percent = percent(running.arbiter_cpu_ns() - cpu_before, took);
    // A GPU with time slices loses time at each switch, for which no tenant is at fault.
    if (measuring.slices.length_ns > 0)
        std::ranges::transform(measured.percents, measured.percents.begin(), percents_of_all);
    return measured;
}

}  // namespace tessera::guard

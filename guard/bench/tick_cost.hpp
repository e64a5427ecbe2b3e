// The cost of one tick of the arbiter of a GPU that sixteen containers share. One of them has many
// processes.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "guard/arbiter/tick.hpp"
#include "guard/region/process_time.hpp"
#include "guard/test_support/record_interval.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {

class BusyRegion {
  public:
    explicit BusyRegion(int processes) : processes_(processes) {
        for (int i = 0; i < processes; i++) {
            ProcessSlot& process_slot = process_slots_.emplace_back();
            if (register_process(region_.path(kAccountsName).c_str(), process_slot) !=
                ProcessSlotError::none)
                throw std::runtime_error("register_process");
        }
        limits_.gpus[0].cores = kWhole / 16;
        limits_.gpus[0].cores_limit = kWhole;
    }
    ~BusyRegion() {
        for (const ProcessSlot& process_slot : process_slots_)
            munmap(process_slot.accounts, sizeof(Accounts));
    }
    BusyRegion(const BusyRegion&) = delete;
    BusyRegion& operator=(const BusyRegion&) = delete;

    Sharer sharer(Arbiter::Id id) { return {id, &limits_, region_.fd(), 0}; }

    // Since then, each process has had more work intervals than a log has entries, and has another
    // one in flight.
    void work_since(std::int64_t since) {
        const std::int64_t now = monotonic_ns();
        constexpr int kPieces = kLogEntries + 8;
        const std::int64_t step = (now - since) / (kPieces + 1);
        Accounts& accounts = region_.accounts();
        for (int slot = 0; slot < processes_; slot++) {
            InFlight& time = accounts.times[slot][0].in_flight[0];
            for (int i = 0; i < kPieces; i++) {
                const auto ns = std::uniform_int_distribution<std::int64_t>(1, step)(random_);
                const std::int64_t start = since + i * step + (step - ns) / 2;
                record_interval(accounts, slot, {start, ns, 0, WorkKind::kernels});
            }
            time.since_ns = since + kPieces * step;
            accounts.times[slot][0].seen_ns = now;
        }
    }

  private:
    const int processes_;
    TestRegion region_{
        {RegionGpu{"GPU-01234567-89ab-cdef-0123-456789abcdef", 64 * kAllocationUnitBytes, 0}}};
    std::vector<ProcessSlot> process_slots_;
    Limits limits_ = {};
    std::mt19937_64 random_{20261124};
};

// The median in milliseconds, if the first container has `processes` processes and each of 15
// others has `of_others`.
inline double tick_ms(int processes, int of_others, int ticks) {
    std::vector<std::unique_ptr<BusyRegion>> regions;
    std::vector<Sharer> sharers;
    for (int i = 0; i < 16; i++) {
        regions.push_back(std::make_unique<BusyRegion>(i == 0 ? processes : of_others));
        sharers.push_back(regions.back()->sharer(sharers.size()));
    }
    Arbiter arbiter;
    tick(arbiter, sharers, monotonic_ns());
    std::vector<double> took;
    for (int i = 0; i < ticks; i++) {
        const std::int64_t before = monotonic_ns();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (const auto& region : regions)
            region->work_since(before);
        const std::int64_t start = monotonic_ns();
        tick(arbiter, sharers, monotonic_ns());
        took.push_back(static_cast<double>(monotonic_ns() - start) / 1e6);
    }
    std::ranges::nth_element(took, took.begin() + ticks / 2);
    return took[static_cast<std::size_t>(ticks) / 2];
}

}  // namespace tessera::guard

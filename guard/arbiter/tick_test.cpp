// Goal: ticks come as often as they are cheap. In accounts that are complete, a neighbour that
// writes nonsense takes nothing from others. Method: accounts of three tenants, with stepped time.
#include "guard/arbiter/tick.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "guard/region/account.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/test_support/nonsense.hpp"
#include "guard/test_support/record_interval.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

const std::vector<RegionGpu> kGpus(2, RegionGpu{"GPU-01234567-89ab-cdef-0123-456789abcdef",
                                                64 * kAllocationUnitBytes, 0});

// A tick may cost a fortieth of a core, but balances need one every 10 ms.
TEST(Tick, ComesAsSoonAsItIsCheap) {
    using std::chrono::microseconds;
    using std::chrono::milliseconds;
    EXPECT_EQ(until_next_tick(microseconds(0)), milliseconds(5));
    EXPECT_EQ(until_next_tick(microseconds(125)), milliseconds(5));
    EXPECT_EQ(until_next_tick(microseconds(126)), milliseconds(6));
    EXPECT_EQ(until_next_tick(microseconds(5000)), milliseconds(10));
}

// Two tenants use what they are given and wait for more; the third one writes nonsense.
TEST(Tick, NonsenseTakesNothingFromNeighbours) {
    struct Tenant {
        TestRegion region{kGpus};
        std::unique_ptr<Limits> limits = std::make_unique<Limits>();
    };
    Tenant tenants[3];
    std::vector<Sharer> sharers;
    for (Tenant& tenant : tenants) {
        tenant.limits->gpus[1].cores = kWhole / 4;
        tenant.limits->gpus[1].cores_limit = kWhole / 2;
        tenant.region.accounts().slots_end = 1;
        sharers.push_back({sharers.size(), tenant.limits.get(), tenant.region.fd(), 1});
    }
    Arbiter arbiter;
    Nonsense nonsense;
    std::int64_t now = monotonic_ns();
    tick(arbiter, sharers, now);
    for (int round = 0; round < 60; round++) {
        now += 1'000'000;
        nonsense.write(tenants[0].region.accounts(), round, now);
        for (int neighbour = 1; neighbour < 3; neighbour++) {
            Accounts& accounts = tenants[neighbour].region.accounts();
            accounts.times[0][1].waited_ns += 1000;
            record_interval(accounts, 0, {now - 2000, 1000, 1, WorkKind::kernels});
        }
        tick(arbiter, sharers, now);
        Millionths sum = 0;
        for (const Tenant& tenant : tenants) {
            const Granted granted = read_grant(tenant.limits->gpus[1].grant);
            EXPECT_GE(granted.rate, kWhole / 4) << round;
            EXPECT_LE(granted.rate, kWhole / 2) << round;
            if (&tenant != &tenants[0]) sum += granted.rate;
            for (const Granted::OfKind& of : granted.of) {
                EXPECT_GE(of.balance_ns, -kMaxDebtNs);
                EXPECT_LE(of.balance_ns, kMaxPressingLagNs);
                EXPECT_LE(of.part, kWhole);
            }
        }
        EXPECT_LE(sum, kWhole + 2) << round << ", sum of those that want more";
        for (int neighbour = 1; neighbour < 3; neighbour++) {
            const Granted granted = read_grant(tenants[neighbour].limits->gpus[1].grant);
            EXPECT_GE(granted.rate, 333'000U) << round;
            EXPECT_GE(granted.of[0].balance_ns, 0) << round;
        }
    }
}

}  // namespace
}  // namespace tessera::guard

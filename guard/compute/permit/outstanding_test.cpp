// Goal: a process that takes a launch permit takes into account what the container's other
// processes have already given the GPU. Method: one process under the facade, beside others that
// exist only as entries in the accounts, and what it writes there itself. Only whether it waited is
// checked, not how long anything took.
#include "guard/compute/permit/outstanding.hpp"

#include <gtest/gtest.h>

#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/test_support/siblings.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMillisecond;
using gpusim::Worker;

constexpr std::int64_t kMs = 1'000'000;

class GuardOutstanding : public Siblings {
  protected:
    void SetUp() override { grant(kWhole, 1'000 * kMs); }

    void grant(Millionths rate, std::int64_t balance_ns, Millionths part = kWhole) const {
        write_grant(container_.limits().gpus[0].grant,
                    {monotonic_ns(), rate, {{balance_ns, part}, {balance_ns, part}}});
    }
    // As if another, live process had given the GPU work for `ns`.
    void give(int slot, std::int64_t ns, WorkKind kind = WorkKind::kernels) const {
        accounts().slots_end.store(kMaxProcesses);
        accounts().times[slot][0].seen_ns.store(monotonic_ns() + ns);
        accounts().expected_end_ns[0][static_cast<int>(kind)][slot].store(monotonic_ns() + ns);
    }
    [[nodiscard]] std::int64_t expected_end_ns() const {
        return accounts().expected_end_ns[0][0][0].load();
    }
};

TEST_F(GuardOutstanding, IsTakenOffTheBalanceOfWhoAsks) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 10, 50 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
        grant(kWhole / 10, 50 * kMs);
        give(7, 200 * kMs);
        give(kOrphanSlot - 1, 150 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_GE(waited_ns(), 100 * kMs);
    });
}

TEST_F(GuardOutstanding, CountsByItsPartOfTheGpu) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 10, 50 * kMs, kWhole / 10);
        give(7, 400 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

TEST_F(GuardOutstanding, OfOneKindKeepsNobodyFromTheOther) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 10, 50 * kMs);
        give(7, 400 * kMs, WorkKind::copies);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// The GPU always has work then, but no more than another container can wait for.
TEST_F(GuardOutstanding, KeepsNobodyBackForLittleWhereNobodyElseWantsTheGpu) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kAloneRate, 50 * kMs);
        give(7, 120 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
        grant(kWhole, 50 * kMs);
        give(7, 52 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
        give(7, 120 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_GE(waited_ns(), 10 * kMs) << "another container wanted the GPU recently";
        grant(kAloneRate, 50 * kMs);
        give(7, 900 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_GE(waited_ns(), 200 * kMs);
    });
}

// The process died, or is stopped.
TEST_F(GuardOutstanding, OfWhoIsSilentDoesNotCount) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 10, 50 * kMs);
        give(7, 900 * kMs);
        accounts().times[7][0].seen_ns.store(monotonic_ns() - 500 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// The value may be from a dead process, from before a reboot, or from a tenant that harms itself.
TEST_F(GuardOutstanding, NonsenseDoesNotCount) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 2, 50 * kMs);
        give(7, INT64_MAX / 2);
        accounts().expected_end_ns[0][0][8].store(INT64_MIN);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

TEST_F(GuardOutstanding, IsSaidOfLongWorkUntilItHasEnded) {
    in_worker(kMillisecond, [&](const Worker& worker, const auto& launch_and_wait) {
        EXPECT_EQ(expected_end_ns(), 0) << "short work is not published";
        launch_and_wait(60 * kMillisecond);
        EXPECT_EQ(expected_end_ns(), 0);
        const std::int64_t before = monotonic_ns();
        EXPECT_EQ(worker.launch(60 * kMillisecond), CUDA_SUCCESS);
        EXPECT_GE(expected_end_ns(), before + 50 * kMs);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(expected_end_ns(), 0);
        for (int i = 0; i < 40; i++)
            launch_and_wait(kMillisecond);
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(expected_end_ns(), 0) << "it has learned that its work is short";
    });
}

// A stream's earlier owner of the place must not affect what is expected of that stream.
TEST_F(GuardOutstanding, IsNotSaidOfAStreamInThePlaceOfALongOne) {
    in_worker(kMillisecond, [&](const Worker& worker, const auto&) {
        CUstream before = worker.make_stream();
        EXPECT_EQ(worker.launch(200 * kMillisecond, before), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(before), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(before), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(kMillisecond, worker.make_stream()), CUDA_SUCCESS);
        EXPECT_EQ(expected_end_ns(), 0);
    });
}

// The first work may be longer than the arbiter takes to notice it.
TEST_F(GuardOutstanding, IsSaidOfAProcesssFirstWork) {
    gpusim::in_child([&] {
        const Worker worker(container_.facade());
        const std::int64_t before = monotonic_ns();
        EXPECT_EQ(worker.launch(100 * kMillisecond), CUDA_SUCCESS);
        EXPECT_GE(expected_end_ns(), before + 10 * kMs);
    });
}

TEST_F(GuardOutstanding, OfAnotherStreamOfTheProcessCounts) {
    in_worker(kMillisecond, [&](const Worker& worker, const auto& launch_and_wait) {
        launch_and_wait(200 * kMillisecond);
        CUstream other = worker.make_stream();
        grant(kWhole / 10, 50 * kMs);
        EXPECT_EQ(worker.launch(200 * kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(waited_ns(), 0);
        EXPECT_EQ(worker.launch(kMillisecond, other), CUDA_SUCCESS);
        EXPECT_GE(waited_ns(), 50 * kMs);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace tessera::guard

// Goal: who takes a turn takes account of what the container's others have given the card already.
// Method: one process under the facade beside others of which there is but what they would say in
// the accounts, and what it says there itself; nobody is timed but by whether he waited.
#include "guard/compute/outstanding.hpp"

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
        write_grant(container_.limits().cards[0].grant,
                    {monotonic_ns(), rate, {{balance_ns, part}, {balance_ns, part}}});
    }
    // As if another process had given the card so much, and lived.
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
        give(kNobody - 1, 150 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_GE(waited_ns(), 100 * kMs);
    });
}

TEST_F(GuardOutstanding, CountsByItsPartOfTheCard) {
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

// It is to have something to do always, and no more than can be waited for.
TEST_F(GuardOutstanding, KeepsNobodyBackForLittleWhereNobodyElseWantsTheCard) {
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
        EXPECT_GE(waited_ns(), 10 * kMs) << "somebody wanted it of late";
        grant(kAloneRate, 50 * kMs);
        give(7, 900 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_GE(waited_ns(), 200 * kMs);
    });
}

// It died, or is stopped.
TEST_F(GuardOutstanding, OfWhoIsSilentDoesNotCount) {
    in_worker(kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        grant(kWhole / 10, 50 * kMs);
        give(7, 900 * kMs);
        accounts().times[7][0].seen_ns.store(monotonic_ns() - 500 * kMs);
        launch_and_wait(kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// Whoever wrote it: the dead, another boot, or a tenant who means harm to himself.
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
        EXPECT_EQ(expected_end_ns(), 0) << "of what is short";
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
        EXPECT_EQ(expected_end_ns(), 0) << "it has learnt that its work is short";
    });
}

// Of what another stream did that had its place before it nothing is expected of it.
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

// It may be longer than the arbiter takes to see that.
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

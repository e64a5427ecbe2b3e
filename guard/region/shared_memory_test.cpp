// Goal: exported memory is charged to one process as long as any of the container has it, whoever
// lets go or dies first, and to nobody afterwards. Method: seats of one region, and processes that
// are killed; the last test, many at once.
#include "guard/region/shared_memory.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gpusim/test_support/peer.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

constexpr CardShare kCard{"GPU-01234567-89ab-cdef-0123-456789abcdef", 640 * kGranuleBytes, 0};
constexpr std::uint64_t kKey = 77;
constexpr Granules kSize = 10;

class RegionSharedMemory : public testing::Test {
  protected:
    TestRegion region_{{kCard}};
    Accounts& accounts_ = region_.accounts();

    // Of a slot that is charged for it.
    int exported(int slot, std::uint64_t key = kKey) {
        EXPECT_TRUE(reserve(accounts_, 0, slot, kSize, 640));
        return add_shared(accounts_, {key, 0, kSize}, slot);
    }
    // As who lives takes it from one who is dead.
    void bury(int slot) {
        forget_shared_of(accounts_, slot);
        clear(accounts_, 0, slot);
    }
};

TEST_F(RegionSharedMemory, WhatNobodyImportedIsItsMakers) {
    const int index = exported(1);
    EXPECT_EQ(find_shared(accounts_, kKey), index);
    EXPECT_EQ(find_shared(accounts_, kKey + 1), -1);
    EXPECT_EQ(held(accounts_, 0), kSize);
    end_shared(accounts_, index);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_EQ(find_shared(accounts_, kKey), -1);
}

TEST_F(RegionSharedMemory, ItsMakerIsChargedUntilTheLastLetsGo) {
    const int index = exported(1);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 2));
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 900));
    end_shared(accounts_, index);
    EXPECT_EQ(held_by(accounts_, 0, 1), kSize);
    leave_shared(accounts_, index, 2);
    EXPECT_EQ(held(accounts_, 0), kSize);
    leave_shared(accounts_, index, 900);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_FALSE(join_shared(accounts_, index, kKey, 2)) << "it is gone";
}

TEST_F(RegionSharedMemory, WhoLetsGoBeforeTheMakerChangesNothing) {
    const int index = exported(1);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 2));
    leave_shared(accounts_, index, 2);
    EXPECT_EQ(held_by(accounts_, 0, 1), kSize);
    EXPECT_EQ(find_shared(accounts_, kKey), index);
}

TEST_F(RegionSharedMemory, TheDeadPassItOn) {
    const int index = exported(1);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 2));
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 3));
    bury(1);
    EXPECT_EQ(held(accounts_, 0), kSize);
    EXPECT_EQ(held_by(accounts_, 0, 2), kSize);
    bury(2);
    EXPECT_EQ(held(accounts_, 0), kSize);
    EXPECT_EQ(held_by(accounts_, 0, 3), kSize);
    leave_shared(accounts_, index, 3);
    EXPECT_EQ(held(accounts_, 0), 0U);
}

TEST_F(RegionSharedMemory, ADeadImporterHasLetGo) {
    const int index = exported(1);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 2));
    end_shared(accounts_, index);
    bury(2);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_FALSE(may_have_shared(accounts_, 2));
}

TEST_F(RegionSharedMemory, AreRefusedWhereThereIsNoPlace) {
    for (std::uint64_t key = 1; key <= kMaxSharedMemory; key++)
        EXPECT_GE(add_shared(accounts_, {key, 0, kSize}, 1), 0);
    EXPECT_EQ(add_shared(accounts_, {5000, 0, kSize}, 1), -1);
    bury(1);
    EXPECT_GE(add_shared(accounts_, {5000, 0, kSize}, 1), 0);
}

// A few keys that everybody makes, imports, and lets go of, until he is killed.
TEST_F(RegionSharedMemory, AllComesBackWhoeverIsKilledWhen) {
    constexpr int kLives = 200;
    constexpr int kAtOnce = 4;
    std::mt19937 random(1);
    for (int round = 0; round < kLives / kAtOnce; round++) {
        std::vector<std::unique_ptr<gpusim::Peer>> peers;
        for (unsigned i = 0; i < kAtOnce; i++) {
            const unsigned seed = static_cast<unsigned>(random());
            peers.push_back(std::make_unique<gpusim::Peer>([this, seed](gpusim::Wire& wire) {
                Seat seat;
                EXPECT_EQ(take_seat(region_.path(kAccountsName).c_str(), seat), SeatError::none);
                std::mt19937 dice(seed);
                wire.send();
                for (;;) {
                    const std::uint64_t key = 1 + dice() % 3;
                    const int index = find_shared(*seat.accounts, key);
                    if (index >= 0 && join_shared(*seat.accounts, index, key, seat.slot)) {
                        EXPECT_GE(held(*seat.accounts, 0), kSize) << "somebody is charged for it";
                        leave_shared(*seat.accounts, index, seat.slot);
                    } else if (reserve(*seat.accounts, 0, seat.slot, kSize, 640)) {
                        end_shared(*seat.accounts,
                                   add_shared(*seat.accounts, {key, 0, kSize}, seat.slot));
                    }
                }
            }));
        }
        for (const auto& peer : peers)
            EXPECT_EQ(peer->wire().receive(), 1U);
        usleep(static_cast<useconds_t>(random() % 3000));
        for (const auto& peer : peers)
            peer->kill_hard();
        region_.reap();
        EXPECT_EQ(held(accounts_, 0), 0U);
        for (const SharedMemory& entry : accounts_.shared_memory)
            EXPECT_FALSE(is_in_use(entry));
    }
}

}  // namespace
}  // namespace tessera::guard

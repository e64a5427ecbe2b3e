// Goal: exported memory is charged to one process as long as any of the container has it, whoever
// lets go or dies first, and to nobody afterwards. Method: seats of one region, and processes that
// are killed; the last test, many at once.
#include "guard/region/exports.hpp"

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

class ExportsTest : public testing::Test {
  protected:
    TestRegion region_{{kCard}};
    Accounts& accounts_ = region_.accounts();

    // Of a slot that is charged for it.
    int exported(int slot, std::uint64_t key = kKey) {
        EXPECT_TRUE(reserve(accounts_, 0, slot, kSize, 640));
        return add_export(accounts_, {key, 0, kSize}, slot);
    }
    // As who lives takes it from one who is dead.
    void bury(int slot) {
        forget_exports_of(accounts_, slot);
        clear(accounts_, 0, slot);
    }
};

TEST_F(ExportsTest, WhatNobodyImportedIsItsMakers) {
    const int index = exported(1);
    EXPECT_EQ(find_export(accounts_, kKey), index);
    EXPECT_EQ(find_export(accounts_, kKey + 1), -1);
    EXPECT_EQ(held(accounts_, 0), kSize);
    end_export(accounts_, index);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_EQ(find_export(accounts_, kKey), -1);
}

TEST_F(ExportsTest, ItsMakerIsChargedUntilTheLastLetsGo) {
    const int index = exported(1);
    EXPECT_TRUE(join_export(accounts_, index, kKey, 2));
    EXPECT_TRUE(join_export(accounts_, index, kKey, 900));
    end_export(accounts_, index);
    EXPECT_EQ(held_by(accounts_, 0, 1), kSize);
    leave_export(accounts_, index, 2);
    EXPECT_EQ(held(accounts_, 0), kSize);
    leave_export(accounts_, index, 900);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_FALSE(join_export(accounts_, index, kKey, 2)) << "it is gone";
}

TEST_F(ExportsTest, WhoLetsGoBeforeTheMakerChangesNothing) {
    const int index = exported(1);
    EXPECT_TRUE(join_export(accounts_, index, kKey, 2));
    leave_export(accounts_, index, 2);
    EXPECT_EQ(held_by(accounts_, 0, 1), kSize);
    EXPECT_EQ(find_export(accounts_, kKey), index);
}

TEST_F(ExportsTest, TheDeadPassItOn) {
    const int index = exported(1);
    EXPECT_TRUE(join_export(accounts_, index, kKey, 2));
    EXPECT_TRUE(join_export(accounts_, index, kKey, 3));
    bury(1);
    EXPECT_EQ(held(accounts_, 0), kSize);
    EXPECT_EQ(held_by(accounts_, 0, 2), kSize);
    bury(2);
    EXPECT_EQ(held(accounts_, 0), kSize);
    EXPECT_EQ(held_by(accounts_, 0, 3), kSize);
    leave_export(accounts_, index, 3);
    EXPECT_EQ(held(accounts_, 0), 0U);
}

TEST_F(ExportsTest, ADeadImporterHasLetGo) {
    const int index = exported(1);
    EXPECT_TRUE(join_export(accounts_, index, kKey, 2));
    end_export(accounts_, index);
    bury(2);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_FALSE(may_have_exports(accounts_, 2));
}

TEST_F(ExportsTest, AreRefusedWhereThereIsNoPlace) {
    for (std::uint64_t key = 1; key <= kMaxExports; key++)
        EXPECT_GE(add_export(accounts_, {key, 0, kSize}, 1), 0);
    EXPECT_EQ(add_export(accounts_, {5000, 0, kSize}, 1), -1);
    bury(1);
    EXPECT_GE(add_export(accounts_, {5000, 0, kSize}, 1), 0);
}

// A few keys that everybody makes, imports, and lets go of, until he is killed.
TEST_F(ExportsTest, AllComesBackWhoeverIsKilledWhen) {
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
                    const int index = find_export(*seat.accounts, key);
                    if (index >= 0 && join_export(*seat.accounts, index, key, seat.slot)) {
                        EXPECT_GE(held(*seat.accounts, 0), kSize) << "somebody is charged for it";
                        leave_export(*seat.accounts, index, seat.slot);
                    } else if (reserve(*seat.accounts, 0, seat.slot, kSize, 640)) {
                        end_export(*seat.accounts,
                                   add_export(*seat.accounts, {key, 0, kSize}, seat.slot));
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
        for (const Export& entry : accounts_.exports)
            EXPECT_EQ(entry.state.load(), 0U);
    }
}

}  // namespace
}  // namespace tessera::guard

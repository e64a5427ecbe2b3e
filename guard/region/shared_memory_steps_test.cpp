// Goal: shared memory is charged while any process has it, and nothing is subtracted from a process
// that holds other memory. This holds whatever happens between two instructions of the process that
// passes a charge on or removes it: that process is killed, another dies, or another's slot is
// taken again. Method: run a process one instruction at a time, up to each of many instructions,
// and then do what the row says.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "guard/region/account.hpp"
#include "guard/region/descriptor_files.hpp"
#include "guard/region/named_descriptor.hpp"
#include "guard/region/shared_memory.hpp"
#include "guard/test_support/stepped.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

constexpr RegionGpu kGpu{"GPU-01234567-89ab-cdef-0123-456789abcdef", 640 * kAllocationUnitBytes, 0};
constexpr std::uint64_t kKey = 77;
constexpr AllocationUnits kSize = 10;
constexpr AllocationUnits kOthers = 7;  // held by a later process in a slot that was taken again
constexpr AllocationUnits kLimit = 640;
constexpr int kMaker = 1;
constexpr int kFirst = 2;
constexpr int kSecond = 3;

class SharedMemorySteps : public testing::Test {
  protected:
    TestRegion region_{{kGpu}};
    Accounts& accounts_ = region_.accounts();

    // Made by the maker, and imported by both.
    void share() {
        accounts_.next_shared_memory = 0;  // so that the same instructions reach it
        ASSERT_TRUE(reserve(accounts_, 0, kMaker, kSize, kLimit));
        ASSERT_EQ(add_shared(accounts_, {kKey, 0, kSize}, kMaker), 0);
        ASSERT_TRUE(join_shared(accounts_, 0, kKey, kFirst));
        ASSERT_TRUE(join_shared(accounts_, 0, kKey, kSecond));
    }
    void bury(int slot) {
        forget_shared_of(accounts_, slot);
        clear(accounts_, 0, slot);
    }
    void bury_and_take_again(int slot) {
        bury(slot);
        ASSERT_TRUE(reserve(accounts_, 0, slot, kOthers, kLimit));
    }
    // Made by the maker, which has released it, and held by a descriptor.
    void give_away() {
        accounts_.next_shared_memory = 0;
        fd_ = open(region_.path("device").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_TRUE(set_new_name(fd_, {kKey, kSize}));
        ASSERT_TRUE(reserve(accounts_, 0, kMaker, kSize, kLimit));
        ASSERT_EQ(add_shared(accounts_, {kKey, 0, kSize, file_of(accounts_, fd_)}, kMaker), 0);
        end_shared(accounts_, 0);
    }
    void close_it() {
        if (fd_ >= 0) close(fd_);
        fd_ = -1;
    }
    void expect_nothing_left() {
        close_it();
        give_closed_back(accounts_);
        for (const int slot : {kMaker, kFirst, kSecond})
            bury(slot);
        give_closed_back(accounts_);
        EXPECT_EQ(held(accounts_, 0), 0U);
        EXPECT_FALSE(is_in_use(accounts_.shared_memory[0]));
    }

    using Step = std::function<void()>;
    // The last instruction of `body` at which the entry or the accounts changed, from `begin` on.
    int last_change(const Step& begin, const Step& body) {
        const auto look = [this] {
            const SharedMemory& entry = accounts_.shared_memory[0];
            return std::array<std::uint64_t, 4>{entry.state.load(), entry.importers[0].load(),
                                                held(accounts_, 0), held_by(accounts_, 0, kMaker)};
        };
        begin();
        SteppedProcess run(body);
        auto seen = look();
        int last = 0;
        for (int at = 1; run.step() && at < last + kQuiet; at++) {
            if (const auto now = look(); now != seen) {
                seen = now;
                last = at;
            }
        }
        run.kill_hard();
        expect_nothing_left();
        return last;
    }
    // Runs `body` up to each of some of its instructions. Then runs `meanwhile`, and lets `body` go
    // on or kills it. Then calls `check` with whether it was killed.
    template <typename Check>
    void at_each_step(const Step& begin, const Step& body, const Step& meanwhile,
                      const Check& check) {
        const int end = last_change(begin, body) + 3;
        ASSERT_GT(end, 20);
        const int stride = std::max(1, end / kPoints);
        for (int at = 0; at <= end; at += stride) {
            for (const bool is_killed : {false, true}) {
                SCOPED_TRACE("instruction " + std::to_string(at) + (is_killed ? ", killed" : ""));
                begin();
                SteppedProcess run(body);
                run.step(at);
                meanwhile();
                is_killed ? run.kill_hard() : run.finish();
                check(is_killed);
                expect_nothing_left();
                if (HasFailure()) return;
            }
        }
    }

  private:
    int fd_ = -1;
    // After this many instructions without a change, no further change is expected.
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    static constexpr int kQuiet =
        200'000;  // an access takes many, and the first ones after a fork more
    static constexpr int kPoints = 10;  // each fork is slow
#else
    static constexpr int kQuiet = 10'000;
    static constexpr int kPoints = 250;
#endif
};

TEST_F(SharedMemorySteps, ThatPassOnBesideNobody) {
    at_each_step([this] { share(); }, [this] { forget_shared_of(accounts_, kMaker); }, [] {},
                 [this](bool is_killed) {
                     EXPECT_GE(held(accounts_, 0), kSize);
                     bury(kMaker);
                     EXPECT_GE(held(accounts_, 0), kSize);
                     EXPECT_LE(held(accounts_, 0), is_killed ? 2 * kSize : kSize);
                 });
}

TEST_F(SharedMemorySteps, ThatPassOnBesideAnHeirThatDies) {
    at_each_step([this] { share(); }, [this] { forget_shared_of(accounts_, kMaker); },
                 [this] { bury(kFirst); },
                 [this](bool) {
                     bury(kMaker);
                     EXPECT_GE(held_by(accounts_, 0, kSecond), kSize);
                 });
}

TEST_F(SharedMemorySteps, ThatPassOnBesideAnHeirWhoseSlotIsTakenAgain) {
    at_each_step([this] { share(); }, [this] { forget_shared_of(accounts_, kMaker); },
                 [this] { bury_and_take_again(kFirst); },
                 [this](bool) {
                     bury(kMaker);
                     EXPECT_GE(held_by(accounts_, 0, kSecond), kSize);
                     EXPECT_GE(held_by(accounts_, 0, kFirst), kOthers);
                     leave_shared(accounts_, 0, kSecond);
                     EXPECT_GE(held_by(accounts_, 0, kFirst), kOthers);
                 });
}

TEST_F(SharedMemorySteps, ThatPassOnBesideImportersWhoLeave) {
    at_each_step([this] { share(); }, [this] { forget_shared_of(accounts_, kMaker); },
                 [this] {
                     leave_shared(accounts_, 0, kFirst);
                     leave_shared(accounts_, 0, kSecond);
                 },
                 [this](bool is_killed) {
                     bury(kMaker);
                     EXPECT_EQ(is_in_use(accounts_.shared_memory[0]), false);
                     if (!is_killed) {
                         EXPECT_EQ(held(accounts_, 0), 0U);
                     }
                 });
}

TEST_F(SharedMemorySteps, ThatTakeOffBesideAPayerWhoseSlotIsTakenAgain) {
    const auto begin = [this] {
        share();
        leave_shared(accounts_, 0, kSecond);
        end_shared(accounts_, 0);
    };
    at_each_step(
        begin, [this] { leave_shared(accounts_, 0, kFirst); },
        [this] { bury_and_take_again(kMaker); },
        [this](bool) { EXPECT_GE(held_by(accounts_, 0, kMaker), kOthers); });
}

TEST_F(SharedMemorySteps, ThatTakeOffBesideOneWhoJoins) {
    bool has_joined = false;
    const auto begin = [this] {
        share();
        leave_shared(accounts_, 0, kSecond);
        end_shared(accounts_, 0);
    };
    at_each_step(
        begin, [this] { leave_shared(accounts_, 0, kFirst); },
        [&] { has_joined = join_shared(accounts_, 0, kKey, kSecond); },
        [&](bool) {
            if (!has_joined) return;
            EXPECT_GE(held(accounts_, 0), kSize);
            leave_shared(accounts_, 0, kSecond);
        });
}

TEST_F(SharedMemorySteps, ThatPassOnToNobody) {
    at_each_step([this] { give_away(); }, [this] { forget_shared_of(accounts_, kMaker); }, [] {},
                 [this](bool) {
                     EXPECT_GE(held(accounts_, 0), kSize);
                     bury(kMaker);
                     EXPECT_GE(held(accounts_, 0), kSize);
                     give_closed_back(accounts_);
                     EXPECT_EQ(held(accounts_, 0), kSize);
                     EXPECT_EQ(held_by(accounts_, 0, kOrphanSlot), kSize);
                 });
}

TEST_F(SharedMemorySteps, ThatPassOnBesideADescriptorThatIsClosed) {
    const auto body = [this] {
        close_it();  // its own copy
        forget_shared_of(accounts_, kMaker);
    };
    const auto meanwhile = [this] {
        close_it();
        give_closed_back(accounts_);
    };
    at_each_step([this] { give_away(); }, body, meanwhile,
                 [this](bool) {
                     bury(kMaker);
                     give_closed_back(accounts_);
                     EXPECT_EQ(held(accounts_, 0), 0U);
                 });
}

TEST_F(SharedMemorySteps, ThatTakeOffWhatWasClosedOfNobody) {
    const auto begin = [this] {
        give_away();
        bury(kMaker);
        close_it();
    };
    for (const bool is_other_quicker : {false, true}) {
        at_each_step(
            begin, [this] { give_closed_back(accounts_, 0); },
            [&] {
                if (is_other_quicker) give_closed_back(accounts_);
            },
            [this](bool) {
                give_closed_back(accounts_);
                EXPECT_EQ(held(accounts_, 0), 0U);
            });
    }
}

// By then the maker's slot is another process's, or the maker has exported other memory in the same
// entry.
TEST_F(SharedMemorySteps, ThatTakeOffWhatWasClosedBesideALaterUse) {
    const auto begin = [this] {
        give_away();
        close_it();
    };
    at_each_step(
        begin, [this] { give_closed_back(accounts_, 0); },
        [this] {
            bury(kMaker);
            give_closed_back(accounts_);
            give_away();
        },
        [this](bool) {
            give_closed_back(accounts_);
            EXPECT_GE(held(accounts_, 0), kSize) << "of the later use";
        });
}

}  // namespace
}  // namespace tessera::guard

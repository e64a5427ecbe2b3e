// Goal: exported memory is charged to one process as long as any process of the container has it,
// whichever releases it or dies first, and is not charged afterwards. Method: process slots of one
// region, and processes that are killed. The last test runs many at once.
#include "guard/region/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "gpusim/test_support/child_process.hpp"
#include "guard/region/account.hpp"
#include "guard/region/descriptor_files.hpp"
#include "guard/region/named_descriptor.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

constexpr RegionGpu kGpu{"GPU-01234567-89ab-cdef-0123-456789abcdef", 640 * kAllocationUnitBytes, 0};
constexpr std::uint64_t kKey = 77;
constexpr AllocationUnits kSize = 10;

class RegionSharedMemory : public testing::Test {
  protected:
    TestRegion region_{{kGpu}};
    Accounts& accounts_ = region_.accounts();

    // Exports memory from a slot that is charged for it.
    int exported(int slot, std::uint64_t key = kKey) {
        EXPECT_TRUE(reserve(accounts_, 0, slot, kSize, 640));
        return add_shared(accounts_, {key, 0, kSize}, slot);
    }
    // Makes, imports and releases at random. Reports when it begins and when it has stopped.
    void share_until(const std::atomic<bool>& stop, unsigned seed, gpusim::Wire& wire) {
        ProcessSlot process_slot;
        EXPECT_EQ(register_process(region_.path(kAccountsName).c_str(), process_slot),
                  ProcessSlotError::none);
        Accounts& accounts = *process_slot.accounts;
        std::mt19937 dice(seed);
        std::vector<int> made;
        std::vector<int> joined;
        const auto take_some = [&dice](std::vector<int>& from) {
            std::swap(from[dice() % from.size()], from.back());
            const int taken = from.back();
            from.pop_back();
            return taken;
        };
        wire.send();
        while (!stop) {
            const std::uint64_t key = 1 + dice() % 5;
            switch (dice() % 4) {
                case 0:
                    if (!reserve(accounts, 0, process_slot.slot, kSize, 640)) break;
                    made.push_back(add_shared(accounts, {key, 0, kSize}, process_slot.slot));
                    break;
                case 1:
                    if (const int index = find_shared(accounts, key);
                        index >= 0 &&
                        std::find(joined.begin(), joined.end(), index) == joined.end() &&
                        join_shared(accounts, index, key, process_slot.slot))
                        joined.push_back(index);
                    break;
                case 2:
                    if (!made.empty()) end_shared(accounts, take_some(made));
                    break;
                default:
                    if (!joined.empty())
                        leave_shared(accounts, take_some(joined), process_slot.slot);
            }
            if (!joined.empty() || !made.empty()) {
                EXPECT_GE(held(accounts, 0), kSize);
            }
        }
        wire.send();
        wire.receive();
    }
    // As a live process cleans up after a dead one.
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

// Memory with an open file that has the name. The file is closed at the end.
class RegionDescriptors : public RegionSharedMemory {
  protected:
    ~RegionDescriptors() override { close(fd_); }

    std::string path_ = region_.path("device");
    int fd_ = open_again();

    int open_again() const { return open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); }
    int given_away(int maker) {
        EXPECT_TRUE(set_new_name(fd_, {kKey, kSize}));
        EXPECT_TRUE(reserve(accounts_, 0, maker, kSize, 640));
        const int file = file_of(accounts_, fd_);
        EXPECT_NE(file, 0);
        return add_shared(accounts_, {kKey, 0, kSize, file}, maker);
    }
    void close_it() {
        close(fd_);
        fd_ = -1;
    }
    AllocationUnits closed(int slot) const {
        AllocationUnits of[kMaxProcesses] = {};
        find_closed(accounts_, 0, of);
        return of[slot];
    }
};

TEST_F(RegionDescriptors, ItsMakerIsChargedUntilItIsClosed) {
    const int index = given_away(1);
    end_shared(accounts_, index);
    give_closed_back(accounts_);
    EXPECT_EQ(held_by(accounts_, 0, 1), kSize);
    EXPECT_EQ(closed(1), 0U);
    close_it();
    EXPECT_EQ(closed(1), kSize);
    give_closed_back(accounts_, index);
    EXPECT_EQ(held(accounts_, 0), 0U);
    EXPECT_FALSE(is_in_use(accounts_.shared_memory[index]));
}

TEST_F(RegionDescriptors, NobodyIsChargedAfterItsMakerAndAProcessBeforeNobody) {
    const int index = given_away(1);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 2));
    bury(1);
    EXPECT_EQ(held_by(accounts_, 0, 2), kSize);
    bury(2);
    EXPECT_EQ(held_by(accounts_, 0, kOrphanSlot), kSize);
    EXPECT_TRUE(join_shared(accounts_, index, kKey, 3));
    close_it();
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), kSize) << "a live process has it";
    leave_shared(accounts_, index, 3);
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), 0U);
}

TEST_F(RegionDescriptors, OneThatIsGivenAwayLaterKeepsIt) {
    const int index = given_away(1);
    const std::uint64_t before = accounts_.shared_memory[index].descriptors;
    share_again(accounts_, index);
    EXPECT_GT(accounts_.shared_memory[index].descriptors, before);
    end_shared(accounts_, index);
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), kSize);
}

// The path is another file's, or no file's: then no process can tell that the descriptor is closed.
TEST_F(RegionDescriptors, CountsWhereNobodyCanTell) {
    const int index = given_away(1);
    end_shared(accounts_, index);
    unlink(path_.c_str());
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), kSize);
    const int other = open_again();
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), kSize);
    close(other);
    bury(1);
    give_closed_back(accounts_);
    EXPECT_EQ(held_by(accounts_, 0, kOrphanSlot), kSize);
}

TEST_F(RegionDescriptors, WhatOthersLeftChargedToNobodyIsTakenOff) {
    const int index = given_away(1);
    bury(1);
    EXPECT_TRUE(reserve(accounts_, 0, kOrphanSlot, 70, 640));
    give_closed_back(accounts_);
    EXPECT_EQ(held(accounts_, 0), kSize);
    close_it();
    give_closed_back(accounts_, index);
    EXPECT_EQ(held(accounts_, 0), 0U);
}

TEST_F(RegionDescriptors, AreOfFilesThatCanBeOpened) {
    const int other = memfd_create("nowhere", MFD_CLOEXEC);
    EXPECT_EQ(file_of(accounts_, other), 0);
    const int file = file_of(accounts_, fd_);
    EXPECT_EQ(file_of(accounts_, fd_), file);
    EXPECT_TRUE(is_of_file(accounts_, file, fd_));
    EXPECT_FALSE(is_of_file(accounts_, file, other));
    EXPECT_FALSE(is_of_file(accounts_, 0, fd_));
    EXPECT_FALSE(is_of_file(accounts_, kMaxDescriptorFiles + 1, fd_));
    close(other);
}

// All processes make a few keys, import them and keep them for a while, until they are killed. Half
// of them are killed at a random instant. The others stop between two calls, and what they have is
// charged.
TEST_F(RegionSharedMemory, IsChargedWhileTheLivingHaveItWhoeverIsKilledWhen) {
    constexpr int kRounds = 40;
    constexpr std::size_t kAtOnce = 6;
    std::mt19937 random(1);
    std::uint64_t shared_by_the_living = 0;
    for (int round = 0; round < kRounds; round++) {
        void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(page, MAP_FAILED);
        auto* stop = new (page) std::atomic<bool>(false);
        std::vector<std::unique_ptr<gpusim::ChildProcess>> children;
        for (std::size_t i = 0; i < kAtOnce; i++) {
            const auto seed = static_cast<unsigned>(random());
            children.push_back(std::make_unique<gpusim::ChildProcess>(
                [this, seed, stop](gpusim::Wire& wire) { share_until(*stop, seed, wire); }));
        }
        for (const auto& child : children)
            EXPECT_EQ(child->wire().receive(), 1U);
        usleep(static_cast<useconds_t>(random() % 3000));
        for (std::size_t i = 0; i < kAtOnce; i += 2)
            children[i]->kill_hard();
        stop->store(true);
        for (std::size_t i = 1; i < kAtOnce; i += 2)
            EXPECT_EQ(children[i]->wire().receive(), 1U);
        region_.reap();
        AllocationUnits in_use = 0;
        for (const SharedMemory& entry : accounts_.shared_memory)
            if (is_there(entry)) in_use += kSize;
        EXPECT_GE(held(accounts_, 0), in_use);
        shared_by_the_living += in_use;
        for (std::size_t i = 1; i < kAtOnce; i += 2)
            children[i]->kill_hard();
        region_.reap();
        EXPECT_EQ(held(accounts_, 0), 0U);
        for (const SharedMemory& entry : accounts_.shared_memory)
            EXPECT_FALSE(is_in_use(entry));
        munmap(page, 4096);
    }
    EXPECT_GT(shared_by_the_living, 0U);
}

}  // namespace
}  // namespace tessera::guard

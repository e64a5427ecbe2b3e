// Goal: what a container's processes report is read correctly wherever it may have changed.
// Whatever a tenant's accounts contain, no number leaves its bounds. Method: accounts written as
// processes write them, and filled with anything.
#include "guard/arbiter/reading.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>

#include "guard/arbiter/arbiter.hpp"
#include "guard/region/account.hpp"
#include "guard/region/process_time.hpp"
#include "guard/test_support/nonsense.hpp"
#include "guard/test_support/record_interval.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

const std::vector<RegionGpu> kGpus(2, RegionGpu{"GPU-01234567-89ab-cdef-0123-456789abcdef",
                                                64 * kAllocationUnitBytes, 0});
constexpr std::int64_t kTickNs = 10'000'000;

class ReadingTest : public testing::Test {
  protected:
    ~ReadingTest() override {
        for (const ProcessSlot& process_slot : process_slots_)
            munmap(process_slot.accounts, sizeof(Accounts));
    }

    void SetUp() override {
        for (auto& gpus : region_.accounts().times)
            for (ProcessTime& time : gpus)
                time.seen_ns = INT64_MAX;
    }
    // The slot of a live process.
    int sit() {
        ProcessSlot process_slot;
        EXPECT_EQ(register_process(region_.path(kAccountsName).c_str(), process_slot),
                  ProcessSlotError::none);
        process_slots_.push_back(process_slot);
        time(process_slot.slot).seen_ns = INT64_MAX;
        return process_slot.slot;
    }
    ProcessTime& time(int slot) const { return region_.accounts().times[slot][1]; }
    void add_interval(int slot, const WorkInterval& interval) const {
        record_interval(region_.accounts(), slot, interval);
    }
    void die() {
        munmap(process_slots_.back().accounts, sizeof(Accounts));
        process_slots_.pop_back();
    }
    // Reads as a tick does.
    ContainerReading read() {
        ContainerReading reading;
        EXPECT_TRUE(read_times(region_.fd(), 1, now_, reading, arbiter_.known(0), INT64_MAX));
        arbiter_.decide(now_, {{0, reading}});
        now_ += kTickNs;
        return reading;
    }

    TestRegion region_{kGpus};
    std::vector<ProcessSlot> process_slots_;
    Arbiter arbiter_;
    std::int64_t now_ = 1'000'000'000;
};

TEST_F(ReadingTest, TheDeadDoNotWorkAndWhatTheyHadStays) {
    const int slot = sit();
    EXPECT_EQ(slot, 0);
    region_.accounts().slots_end = 3;
    for (int i = 0; i < 2; i++) {
        time(i).in_flight[0].total_ns = 100;
        time(i).in_flight[0].since_ns = now_ - 40;
        time(i).waited_ns = 5;
        time(i).waiting = 1;
    }
    ContainerReading reading;
    ASSERT_TRUE(read_times(region_.fd(), 1, now_, reading, nullptr, INT64_MAX));
    ASSERT_EQ(reading.processes.size(), 3U);
    EXPECT_EQ(reading.processes[0].process.in_flight_ns[0], 140);
    EXPECT_EQ(reading.processes[1].process.in_flight_ns[0], 100);
    EXPECT_EQ(reading.processes[2].process.in_flight_ns[0], 0);
    EXPECT_EQ(reading.waited_ns, 10);
    EXPECT_TRUE(reading.waits);
    time(0).waiting = 0;
    ContainerReading again;
    ASSERT_TRUE(read_times(region_.fd(), 1, now_, again, nullptr, INT64_MAX));
    EXPECT_FALSE(again.waits);
    EXPECT_EQ(truncate(region_.path(kAccountsName).c_str(), sizeof(Accounts) / 20), 0);
    EXPECT_FALSE(read_times(region_.fd(), 1, now_, again, nullptr, INT64_MAX));
    EXPECT_EQ(truncate(region_.path(kAccountsName).c_str(), sizeof(Accounts)), 0);
}

// Goal: a process that is stopped with work in flight is charged for it for a while, and then no
// longer. It then no longer counts as waiting. When it reports the work, it is charged for what the
// work was.
TEST_F(ReadingTest, TheStoppedAreBelievedForAWhile) {
    const int slot = sit();
    read();
    const std::int64_t began = now_;
    time(slot).in_flight[0].since_ns = began;
    time(slot).waiting = 1;
    time(slot).seen_ns = began;
    const auto in_flight = [](const ContainerReading& reading) {
        return reading.processes.empty() ? 0 : reading.processes[0].process.in_flight_ns[0];
    };
    now_ += kTickNs;
    EXPECT_EQ(in_flight(read()), kTickNs);
    now_ = began + kUnseenNs - kTickNs;
    EXPECT_TRUE(read().waits);
    now_ += kTickNs;
    for (int tick = 0; tick < 3; tick++) {
        const ContainerReading reading = read();
        EXPECT_FALSE(reading.waits);
        EXPECT_EQ(in_flight(reading), kUnseenNs);
    }
    const std::int64_t used = arbiter_.used_ns(0, WorkKind::kernels);
    EXPECT_LE(used, kUnseenNs);
    time(slot).in_flight[0].since_ns = 0;
    time(slot).waiting = 0;
    add_interval(slot, {began, 5'000'000, 1, WorkKind::kernels});
    read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 5'000'000);
}

// Goal: the same for a process that died, whose lock its children have, or had until they ended.
TEST_F(ReadingTest, TheDeadWhoseLockLivesAreBelievedForAWhile) {
    const int slot = sit();
    read();
    time(slot).in_flight[0].since_ns = now_;
    time(slot).seen_ns = now_;
    now_ += 5 * kUnseenNs;
    read();
    EXPECT_LE(arbiter_.used_ns(0, WorkKind::kernels), kUnseenNs);
    die();
    now_ += 5 * kUnseenNs;
    read();
    read();
    EXPECT_LE(arbiter_.used_ns(0, WorkKind::kernels), kUnseenNs);
}

TEST_F(ReadingTest, PiecesAreThoseSinceTheLastReading) {
    const int slot = sit();
    read();
    add_interval(slot, {now_ - 30'000'000, 1000, 1, WorkKind::kernels});
    add_interval(slot, {now_ - 11'000'000, 2'000'000, 1, WorkKind::copies});
    add_interval(slot, {now_ - 500, 1000, 1, WorkKind::kernels});
    add_interval(slot, {now_ - 500, 100, 0, WorkKind::kernels});
    auto reading = read();
    ASSERT_EQ(reading.processes.size(), 1U);
    const ProcessReading& process = reading.processes[0].process;
    ASSERT_EQ(process.spans[0].size(), 1U);
    EXPECT_EQ(process.spans[0][0].end_ns - process.spans[0][0].start_ns, 500);
    ASSERT_EQ(process.spans[1].size(), 1U);
    reading = read();
    ASSERT_EQ(reading.processes.size(), 1U);
    EXPECT_EQ(reading.processes[0].process.spans[0].size(), 1U)
        << "the interval ended after the last reading";
    EXPECT_TRUE(read().processes.empty());
}

TEST_F(ReadingTest, WhatNobodyLivesInIsReadNowAndAgain) {
    region_.accounts().slots_end = kMaxProcesses;
    region_.accounts().next_slot = 500;
    EXPECT_EQ(read().processes.size(), std::size_t{kMaxProcesses});
    read();
    EXPECT_TRUE(read().processes.empty());
    const int slot = sit();
    EXPECT_EQ(slot, 500);
    time(slot).in_flight[0].since_ns = now_ - 5;
    auto reading = read();
    ASSERT_EQ(reading.processes.size(), 1U) << "a live process is read at once";
    EXPECT_EQ(reading.processes[0].process.in_flight_ns[0], 5);
    // The process dies, and another slot without a process changes.
    die();
    reading = read();
    ASSERT_EQ(reading.processes.size(), 1U);
    EXPECT_EQ(reading.processes[0].process.in_flight_ns[0], 5 + kTickNs)
        << "the work may have lasted until the process died";
    reading = read();
    ASSERT_EQ(reading.processes.size(), 1U);
    EXPECT_EQ(reading.processes[0].process.in_flight_ns[0], 0);
    EXPECT_TRUE(read().processes.empty());
    time(777).in_flight[1].total_ns = 9;
    time(777).waited_ns = 3;
    int seen = 0;
    for (int i = 0; i < kMaxProcesses / kSlotsAtOnce; i++) {
        reading = read();
        for (const auto& [of, process] : reading.processes)
            seen += of == 777 && process.in_flight_ns[1] == 9 && process.spans[1].empty() ? 1 : 0;
    }
    EXPECT_GE(seen, 1);
    EXPECT_LE(seen, 2);
    EXPECT_EQ(read().waited_ns, 3);
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::copies), 9);
}

// Each process is dead when its slot is first read, and has a slot of its own.
TEST_F(ReadingTest, WhoLivesBetweenTwoReadingsIsCharged) {
    read();
    read();
    for (int i = 0; i < 5; i++) {
        const int slot = sit();
        EXPECT_EQ(slot, i);
        add_interval(slot, {now_ - 3'000'000, 1'000'000, 1, WorkKind::kernels});
        die();
        const auto reading = read();
        ASSERT_EQ(reading.processes.size(), i == 0 ? 1U : 2U) << "and the previous one once more";
        EXPECT_EQ(reading.processes.back().process.spans[0].size(), 1U);
        EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), (i + 1) * 1'000'000);
    }
}

TEST_F(ReadingTest, WhatADeadProcessHadInFlightIsCharged) {
    read();
    const int slot = sit();
    time(slot).in_flight[0].since_ns = now_ - 4'000'000;
    read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 4'000'000);
    die();
    read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 4'000'000 + kTickNs);
    sit();  // this process dies at once, with work
    time(slot + 1).in_flight[0].since_ns = now_ - 1'000'000;
    die();
    for (int i = 0; i < 40; i++)
        read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 5'000'000 + kTickNs);
    region_.accounts().next_slot = static_cast<unsigned>(slot);
    EXPECT_EQ(sit(), slot);
    for (int i = 0; i < 40; i++)
        read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 5'000'000 + kTickNs)
        << "nothing is given back";
}

// A process first reports that a work interval has ended, or since when the next one is in flight.
// Then it reports how much of the interval was work.
TEST_F(ReadingTest, WhoDiesBeforeHeSaysWhatWasWorkGetsNothingBack) {
    read();
    std::int64_t used = 0;
    const auto in_flight_for_a_second = [&] {
        const int slot = sit();
        time(slot).in_flight[0].since_ns = now_;
        for (int tick = 0; tick < 100; tick++)
            read();
        now_ += kTickNs / 2;
        read();
        return slot;
    };
    const auto had_since = [&] {
        for (int tick = 0; tick < 40; tick++)
            read();
        const std::int64_t before = used;
        used = arbiter_.used_ns(0, WorkKind::kernels);
        return used - before;
    };
    constexpr std::int64_t kSecondNs = 100 * kTickNs;
    int slot = in_flight_for_a_second();
    time(slot).in_flight[0].since_ns = 0;
    die();
    EXPECT_GE(had_since(), kSecondNs - kTickNs);
    slot = in_flight_for_a_second();
    time(slot).in_flight[0].since_ns = now_ - 1;
    die();
    EXPECT_GE(had_since(), kSecondNs - kTickNs);
    slot = in_flight_for_a_second();
    time(slot).in_flight[0].since_ns = 0;
    add_interval(slot, {now_ - kTickNs, kTickNs / 2, 1, WorkKind::kernels});
    die();
    EXPECT_EQ(had_since(), kTickNs / 2) << "the process reported it";
    slot = in_flight_for_a_second();
    time(slot).in_flight[0].since_ns = 0;
    EXPECT_EQ(had_since(), 0) << "none of it was work, and the process is alive";
}

// The agent rarely looks at a GPU that is not used.
TEST_F(ReadingTest, AProcessThatLivesBetweenTwoSeldomReadingsIsChargedInFull) {
    read();
    const int slot = sit();
    now_ += 4 * kTickNs;
    time(slot).in_flight[0].since_ns = now_ - 35'000'000;
    die();
    read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 35'000'000);
}

void expect_sound(const ContainerReading& reading, std::int64_t now) {
    EXPECT_GE(reading.waited_ns, 0);
    EXPECT_LE(reading.waited_ns, kMaxTimeNs);
    std::int64_t sums[kWorkKinds] = {};
    for (const auto& [slot, process] : reading.processes) {
        EXPECT_TRUE(slot >= 0 && slot < kMaxProcesses);
        EXPECT_GE(process.waited_ns, 0);
        for (int kind = 0; kind < kWorkKinds; kind++) {
            EXPECT_GE(process.in_flight_ns[kind], 0);
            sums[kind] += process.in_flight_ns[kind];
            EXPECT_LE(sums[kind], kMaxTimeNs);
            for (const Span& span : process.spans[kind]) {
                EXPECT_TRUE(0 <= span.start_ns && span.start_ns < span.end_ns &&
                            span.end_ns <= now);
            }
            EXPECT_LE(process.ended[kind].size(), std::size_t{kLogEntries});
            for (const EndedInterval& each : process.ended[kind])
                EXPECT_TRUE(0 <= each.before_ns && each.before_ns < each.ns && each.ns <= now);
        }
    }
}

// A process that finds the next slots taken gets a later one.
TEST_F(ReadingTest, WhoSitsBehindOthersAndDiesIsCharged) {
    for (int slot = 0; slot < 2 * kSlotsAtOnce; slot++)
        sit();
    for (int tick = 0; tick < 2; tick++)
        read();
    region_.accounts().next_slot = 0;  // it has wrapped around
    read();
    const int slot = sit();
    EXPECT_EQ(slot, 2 * kSlotsAtOnce);
    time(slot).in_flight[0].since_ns = now_ - 4'000'000;
    die();
    for (int tick = 0; tick < 3; tick++)
        read();
    EXPECT_EQ(arbiter_.used_ns(0, WorkKind::kernels), 4'000'000);
}

// Goal: a process without memory on a GPU is known all the same, because its context may take some.
TEST_F(ReadingTest, AProcessThatHoldsNothingIsKnown) {
    sit();
    std::vector<ProcessMemory> holders;
    ASSERT_TRUE(read_holders(region_.fd(), 1, holders));
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].pid, getpid());
    EXPECT_EQ(holders[0].units, 0U);
    die();
    holders.clear();
    ASSERT_TRUE(read_holders(region_.fd(), 1, holders));
    EXPECT_TRUE(holders.empty());
}

TEST_F(ReadingTest, AnythingMayStandInTheAccounts) {
    const int living = sit();
    EXPECT_EQ(living, 0);
    sit();
    Nonsense nonsense;
    for (int round = 0; round < 25; round++) {
        now_ = monotonic_ns();
        nonsense.write(region_.accounts(), round, now_);
        ContainerReading all;
        ASSERT_TRUE(read_times(region_.fd(), 1, now_, all));
        expect_sound(all, now_);
        expect_sound(read(), now_);
        for (const WorkKind kind : {WorkKind::kernels, WorkKind::copies})
            EXPECT_GE(arbiter_.used_ns(0, kind), 0);
        MemoryReading held;
        ASSERT_TRUE(read_memory_use(region_.fd(), 1, held));
        EXPECT_LE(held.held, kMaxAllocationUnits);
        EXPECT_LE(held.refusals, std::uint64_t{INT64_MAX});
        std::vector<ProcessMemory> holders;
        ASSERT_TRUE(read_holders(region_.fd(), 1, holders));
        EXPECT_LE(holders.size(), 2U);
        for (const ProcessMemory& holder : holders)
            EXPECT_GE(holder.pid, 0);
    }
}

// An interval may be logged in pieces, which follow each other without a gap.
TEST_F(ReadingTest, EachEndedIntervalIsReadOnceAndItsPiecesAreJoined) {
    const int slot = sit();
    add_interval(slot, {now_ - 500, 100, 1, WorkKind::kernels});
    read();
    time(slot).in_flight[0].total_ns = 100;
    read();  // from the first reading of the log on, intervals are known to be new
    time(slot).in_flight[0].total_ns = 1'000;
    add_interval(slot, {now_ - 900, 200, 1, WorkKind::kernels});
    add_interval(slot, {now_ - 600, 50, 1, WorkKind::copies});
    add_interval(slot, {now_ - 600, 50, 0, WorkKind::kernels});
    add_interval(slot, {now_ - 400, 300, 1, WorkKind::kernels});
    const ContainerReading first = read();
    const std::int64_t at = now_ - kTickNs;
    const auto& kernels = first.processes[0].process.ended[0];
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_EQ(kernels[0].start_ns, at - 900);
    EXPECT_EQ(kernels[0].ns, 200);
    EXPECT_EQ(kernels[0].before_ns, 0);
    EXPECT_EQ(kernels[1].ns, 300);
    EXPECT_EQ(first.processes[0].process.ended[1].size(), 1U);
    time(slot).in_flight[0].total_ns = 2'000;
    add_interval(slot, {at - 100, 700, 1, WorkKind::kernels});
    const ContainerReading second = read();
    const auto& pieces = second.processes[0].process.ended[0];
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].start_ns, at - 400);
    EXPECT_EQ(pieces[0].ns, 1'000);
    EXPECT_EQ(pieces[0].before_ns, 300);
    time(slot).in_flight[0].total_ns = 3'000;
    EXPECT_TRUE(read().processes[0].process.ended[0].empty());
}

// Of more intervals than the log keeps, the last ones are read.
TEST_F(ReadingTest, ALogThatWentRoundIsReadFromItsOldestEntry) {
    const int slot = sit();
    read();
    time(slot).in_flight[0].total_ns = 100;
    read();
    for (int i = 0; i < 3 * kLogEntries; i++)
        add_interval(slot, {now_ - 100'000 + 100 * i, 50, 1, WorkKind::kernels});
    time(slot).in_flight[0].total_ns = 1'000;
    EXPECT_EQ(read().processes[0].process.ended[0].size(), std::size_t{kLogEntries});
}

}  // namespace
}  // namespace tessera::guard

// Goal: on a GPU that gives time slices, each container gets its part of the work that is done, and
// short work intervals are charged for what they had. Method: the rule by numbers that were
// measured on an H100, and a simulated GPU with those time slices, on which tenants launch ahead as
// the guard lets them.
#include "guard/arbiter/time_slices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr TimeSlices kSlices;

// Bursts beside one busy neighbour: the time between their events, and how much of it was theirs
// (work and switches to them).
TEST(TimeSlicesTest, AgreeWithAnH100) {
    const struct {
        double length_ms;
        double own_ms;
    } rows[] = {{1.004, 1.0}, {2.007, 2.0}, {5.54, 3.27}, {10.13, 5.54}, {20.15, 11.08}};
    for (const auto& row : rows) {
        EXPECT_NEAR(own_in_slices(row.length_ms * kMs, 2, kSlices) / kMs, row.own_ms, 0.1)
            << row.length_ms;
    }
    EXPECT_NEAR(own_in_slices(7.8 * kMs, 3, kSlices) / kMs, 3.27, 0.1);
}

TEST(TimeSlicesTest, WithoutSlicesTimeIsDivided) {
    EXPECT_EQ(own_in_slices(12 * kMs, 3, kNoTimeSlices), 4 * kMs);
    EXPECT_EQ(more_than_divided(12 * kMs, 3, kNoTimeSlices), 0);
}

TEST(TimeSlicesTest, AProcessAloneHasAll) {
    EXPECT_EQ(own_in_slices(100.0 * kMs, 1, kSlices), 100.0 * kMs);
    EXPECT_EQ(more_than_divided(100.0 * kMs, 0.5, kSlices), 0);
}

TEST(TimeSlicesTest, NeverLessThanItsPartAndNeverASliceMore) {
    for (int length_us = 0; length_us < 40'000; length_us += 37) {
        for (const double processes : {1.0, 1.3, 2.0, 3.0, 20.0}) {
            const double length = static_cast<double>(length_us) * kUs;
            const double own = own_in_slices(length, processes, kSlices);
            EXPECT_GE(own, length / processes - 1);
            EXPECT_LE(own, length + 1);
            EXPECT_LT(more_than_divided(length, processes, kSlices),
                      kSlices.length_ns + kSlices.switch_ns);
        }
    }
}

// A tenant that always has a kernel to launch. It launches while its balance covers what it has
// launched before.
struct Tenant {
    Millionths cores;
    std::int64_t kernel_ns;

    // Of its process.
    std::int64_t queued_ns = 0;  // given to the GPU and not done
    std::int64_t since_ns = 0;   // when the work in flight was launched, then when it began
    bool has_begun = false;
    std::int64_t ended_ns = 0;  // in flight in all, in intervals that are over
    std::int64_t waited_ns = 0;
    bool is_waiting = false;
    std::vector<Span> spans;
    std::int64_t ran_ns = 0;
    // As of the last tick.
    std::int64_t seen_in_flight_ns = 0;
    Granted grant{};
};

class SlicedGpu {
  public:
    SlicedGpu(std::vector<Tenant> tenants, TimeSlices slices)
        : tenants_(std::move(tenants)), arbiter_(slices) {}

    // The percent of the GPU's work that each did.
    std::vector<double> run(std::int64_t ns) {
        constexpr std::int64_t kWarmUpNs = 1'000 * kMs;
        for (const std::int64_t until : {kWarmUpNs, kWarmUpNs + ns}) {
            for (Tenant& tenant : tenants_)
                tenant.ran_ns = 0;
            for (; now_ < kStartNs + until; now_ += kStepNs)
                step();
        }
        double sum = 0;
        for (const Tenant& tenant : tenants_)
            sum += static_cast<double>(tenant.ran_ns);
        std::vector<double> percents;
        percents.reserve(tenants_.size());
        for (const Tenant& tenant : tenants_)
            percents.push_back(100 * static_cast<double>(tenant.ran_ns) / sum);
        return percents;
    }

  private:
    static constexpr std::int64_t kStepNs = 10 * kUs;
    static constexpr std::int64_t kTickNs = 5 * kMs;
    static constexpr std::int64_t kAheadNs = 6 * kMs;
    static constexpr std::int64_t kStartNs = 1'000 * kMs;
    static constexpr std::size_t kNobody = SIZE_MAX;

    void step() {
        if ((now_ - kStartNs) % kTickNs == 0) tick();
        for (Tenant& tenant : tenants_)
            launch(tenant);
        advance();
    }

    [[nodiscard]] std::int64_t in_flight(const Tenant& tenant) const {
        return tenant.ended_ns + (tenant.queued_ns > 0 ? now_ - tenant.since_ns : 0);
    }

    void launch(Tenant& tenant) const {
        const std::int64_t passed = now_ - tenant.grant.as_of_ns;
        const std::int64_t had = in_flight(tenant) - tenant.seen_in_flight_ns;
        const std::int64_t balance = tenant.grant.of[0].balance_ns +
                                     part_of(passed, tenant.grant.rate) -
                                     part_of(had, tenant.grant.of[0].part) - tenant.queued_ns;
        tenant.is_waiting = false;
        if (tenant.queued_ns >= kAheadNs) return;
        tenant.is_waiting = balance <= 0;
        if (tenant.is_waiting) {
            tenant.waited_ns += kStepNs;
            return;
        }
        if (tenant.queued_ns == 0) {
            tenant.since_ns = now_;
            tenant.has_begun = false;
        }
        tenant.queued_ns += tenant.kernel_ns;
    }

    // The next one after the owner that has work; kNobody if there is none.
    [[nodiscard]] std::size_t next() const {
        const std::size_t from = owner_ == kNobody ? 0 : owner_ + 1;
        for (std::size_t i = 0; i < tenants_.size(); i++) {
            const std::size_t each = (from + i) % tenants_.size();
            if (tenants_[each].queued_ns > 0) return each;
        }
        return kNobody;
    }

    void advance() {
        const bool is_over = owner_ == kNobody || slice_ns_ <= 0 || tenants_[owner_].queued_ns == 0;
        if (is_over) {
            const std::size_t to = next();
            if (to == kNobody) return;
            if (to != owner_) switching_ns_ = kSlices.switch_ns;
            owner_ = to;
            slice_ns_ = kSlices.length_ns;
        }
        if (switching_ns_ > 0) {
            switching_ns_ -= kStepNs;
            return;
        }
        Tenant& owner = tenants_[owner_];
        if (!owner.has_begun) owner.since_ns = now_;
        owner.has_begun = true;
        slice_ns_ -= kStepNs;
        owner.queued_ns -= kStepNs;
        owner.ran_ns += kStepNs;
        if (owner.queued_ns > 0) return;
        owner.ended_ns += now_ + kStepNs - owner.since_ns;
        owner.spans.push_back({owner.since_ns, now_ + kStepNs});
    }

    void tick() {
        std::map<Arbiter::Id, ContainerReading> readings;
        for (std::size_t i = 0; i < tenants_.size(); i++) {
            Tenant& tenant = tenants_[i];
            ContainerReading& reading = readings[i];
            reading.cores = tenant.cores;
            reading.waited_ns = tenant.waited_ns;
            reading.waits = tenant.is_waiting;
            ProcessReading& process = reading.processes.emplace_back(SlotReading{}).process;
            process.in_flight_ns[0] = in_flight(tenant);
            process.spans[0] = tenant.spans;
            for (const Span& span : tenant.spans)
                process.ended[0].push_back({span.start_ns, span.end_ns - span.start_ns, 0});
            tenant.spans.clear();
            if (tenant.queued_ns > 0 && tenant.since_ns < now_) {
                process.since_ns[0] = tenant.since_ns;
                process.spans[0].push_back({tenant.since_ns, now_});
            }
            tenant.seen_in_flight_ns = process.in_flight_ns[0];
        }
        const auto granted = arbiter_.decide(now_, readings);
        for (std::size_t i = 0; i < tenants_.size(); i++)
            tenants_[i].grant = granted.at(i);
    }

    std::vector<Tenant> tenants_;
    Arbiter arbiter_;
    std::int64_t now_ = kStartNs;
    std::size_t owner_ = kNobody;
    std::int64_t slice_ns_ = 0;
    std::int64_t switching_ns_ = 0;
};

std::vector<double> got_of(const std::vector<Millionths>& percents, std::int64_t kernel_ns,
                           TimeSlices assumed) {
    constexpr std::int64_t kLongNs = 10'000 * kMs;
    std::vector<Tenant> tenants;
    tenants.reserve(percents.size());
    for (const Millionths each : percents)
        tenants.push_back({.cores = each * (kWhole / 100), .kernel_ns = kernel_ns});
    return SlicedGpu(std::move(tenants), assumed).run(kLongNs);
}

TEST(TimeSlicesTest, SharesComeOut) {
    for (const std::int64_t kernel_ns : {kMs / 10, kMs / 2, kMs, 3 * kMs}) {
        for (const auto& percents : std::vector<std::vector<Millionths>>{
                 {30, 70}, {10, 90}, {50, 50}, {20, 30, 50}, {10, 20, 30, 40}}) {
            const std::vector<double> got = got_of(percents, kernel_ns, kSlices);
            for (std::size_t i = 0; i < percents.size(); i++) {
                EXPECT_NEAR(got[i], percents[i], 3)
                    << percents.size() << " tenants, kernels of " << kernel_ns / kUs << " us";
            }
        }
    }
}

// What a real H100 showed with an arbiter that assumed infinitely short slices: 44 instead of 30,
// and 21 instead of 10.
TEST(TimeSlicesTest, WithoutThemSmallSharesAreTooLarge) {
    EXPECT_NEAR(got_of({30, 70}, kMs, kNoTimeSlices)[0], 44, 2);
    EXPECT_NEAR(got_of({10, 90}, kMs, kNoTimeSlices)[0], 21, 2);
}

// A tenant writes its own times. Whatever they are, a neighbour is charged for no more than the
// time in which it had work itself.
class ForgerTest : public testing::Test {
  protected:
    static constexpr std::int64_t kTickNs = 5 * kMs;
    static constexpr int kSlots = 64;

    // Both had the GPU all the time in the tick before.
    ForgerTest() {
        for (int slot = 0; slot < kSlots; slot++)
            readings_[0].processes.push_back({.slot = slot, .process = {}});
        readings_[1].processes.push_back({.slot = 0, .process = {}});
        readings_[0].cores = readings_[1].cores = kWhole / 2;
        arbiter_.decide(now_, readings_);
        neighbour().in_flight_ns[0] += kTickNs;
        forger(0).in_flight_ns[0] += kTickNs;
        decide();
    }
    ProcessReading& forger(int slot) {
        return readings_[0].processes[static_cast<std::size_t>(slot)].process;
    }
    ProcessReading& neighbour() { return readings_[1].processes[0].process; }
    // Returns what the neighbour is charged for a tick in which it always has work.
    std::int64_t decide() {
        const std::int64_t before = arbiter_.used_ns(1, WorkKind::kernels);
        arbiter_.decide(now_ += kTickNs, readings_);
        for (auto& [slot, process] : readings_[0].processes)
            process.ended[0].clear();
        return arbiter_.used_ns(1, WorkKind::kernels) - before;
    }

    std::map<Arbiter::Id, ContainerReading> readings_;
    Arbiter arbiter_{kSlices};
    std::int64_t now_ = 1'000 * kMs;
};

TEST_F(ForgerTest, WorkThatBeginsLaterAgainAndAgain) {
    for (int tick = 0; tick < 20; tick++) {
        for (int slot = 0; slot < kSlots; slot++) {
            forger(slot).in_flight_ns[0] += 1;
            forger(slot).since_ns[0] = now_ + 1;
        }
        neighbour().in_flight_ns[0] += kTickNs;
        EXPECT_LE(decide(), kTickNs + 1);
    }
}

TEST_F(ForgerTest, PiecesThatTakeBackMoreThanWasGiven) {
    for (int tick = 0; tick < 20; tick++) {
        for (int slot = 0; slot < kSlots; slot++) {
            forger(slot).in_flight_ns[0] += 1;
            forger(slot).ended[0].assign(32, {now_, 2 * 2'270'000, 2'270'000});
        }
        neighbour().in_flight_ns[0] += kTickNs;
        const std::int64_t before = arbiter_.used_ns(0, WorkKind::kernels);
        EXPECT_LE(decide(), kTickNs + 1);
        EXPECT_GE(arbiter_.used_ns(0, WorkKind::kernels), before)
            << "nothing is paid to the forger";
    }
}

// It charges itself with more than it had. The others pay less, but it cannot take all from them.
TEST_F(ForgerTest, IntervalsThatItNeverHad) {
    for (int tick = 0; tick < 20; tick++) {
        for (int slot = 0; slot < kSlots; slot++) {
            forger(slot).in_flight_ns[0] += 1;
            forger(slot).ended[0].assign(32, {now_, 2 * kMs, 0});
        }
        neighbour().in_flight_ns[0] += kTickNs;
        const std::int64_t charged = decide();
        EXPECT_GE(charged, 0);
        EXPECT_LE(charged, kTickNs + 1);
    }
}

}  // namespace
}  // namespace tessera::guard

// Goal: the division of a GPU's time is the mean over all ways in which its processes can overlap,
// however many there are. Method: compares it for random busy times with the formula written
// out, which is slow, and compares that with counting.
#include "guard/arbiter/time_attribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::guard {
namespace {

// A process's own part if `certain` others were in flight all of the time, and `others` for parts
// of it, independently: the mean of 1 / (1 + how many).
double own_part(int certain, const std::vector<double>& others) {
    // chance[k]: that k of them are in flight at the same time.
    std::vector<double> chance = {1.0};
    for (const double part : others) {
        chance.push_back(0);
        for (std::size_t k = chance.size() - 1; k > 0; k--)
            chance[k] = chance[k] * (1 - part) + chance[k - 1] * part;
        chance[0] *= 1 - part;
    }
    double mean = 0;
    for (std::size_t k = 0; k < chance.size(); k++)
        mean += chance[k] / (static_cast<double>(k + 1) + certain);
    return mean;
}

bool is_in(const BusyTime& busy, std::int64_t at) {
    return std::ranges::any_of(
        busy.spans, [at](const Span& span) { return span.start_ns <= at && at < span.end_ns; });
}

// Nothing changes between two ends.
std::vector<double> slow_own_parts(const std::vector<BusyTime>& busy_times, Span tick) {
    std::vector<std::int64_t> ends = {tick.start_ns, tick.end_ns};
    for (const BusyTime& busy : busy_times) {
        for (const Span& span : busy.spans) {
            ends.push_back(span.start_ns);
            ends.push_back(span.end_ns);
        }
    }
    std::ranges::sort(ends);
    std::vector<double> own(busy_times.size());
    std::vector<double> in_flight(busy_times.size());
    std::vector<double> part(busy_times.size());
    for (std::size_t end = 1; end < ends.size(); end++) {
        const auto length = static_cast<double>(ends[end] - ends[end - 1]);
        if (length <= 0) continue;
        for (std::size_t i = 0; i < busy_times.size(); i++)
            part[i] = is_in(busy_times[i], ends[end - 1]) ? 1 : busy_times[i].by_chance;
        const auto certain = static_cast<int>(std::ranges::count(part, 1.0));
        for (std::size_t i = 0; i < busy_times.size(); i++) {
            if (part[i] <= 0) continue;
            std::vector<double> others;
            for (std::size_t j = 0; j < busy_times.size(); j++)
                if (j != i && part[j] > 0 && part[j] < 1) others.push_back(part[j]);
            in_flight[i] += length * part[i];
            own[i] += length * part[i] * own_part(certain - (part[i] < 1 ? 0 : 1), others);
        }
    }
    for (std::size_t i = 0; i < busy_times.size(); i++)
        own[i] = in_flight[i] > 0 ? own[i] / in_flight[i] : 1;
    return own;
}

constexpr Span kTick = {5'000'000'000, 5'010'000'000};

class ArbiterDivisionTest : public testing::Test {
  protected:
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
    double part() { return std::uniform_real_distribution<>(0, 1)(random_); }

    BusyTime busy(int most_spans) {
        BusyTime made;
        const auto count = static_cast<std::size_t>(between(0, most_spans));
        std::vector<std::int64_t> ends(2 * count);
        for (std::int64_t& end : ends)
            end = between(0, 9) == 0 ? kTick.start_ns : between(kTick.start_ns, kTick.end_ns);
        std::ranges::sort(ends);
        for (std::size_t i = 0; i < ends.size(); i += 2)
            if (ends[i] < ends[i + 1]) made.spans.push_back({ends[i], ends[i + 1]});
        const double chances[] = {0, 0, 1, part(), 1e-9 * part(), 1 - 1e-9 * part()};
        made.by_chance = chances[between(0, 5)];
        return made;
    }

    void expect_as_before(int rounds, int most_busy_intervals, int most_spans) {
        for (int round = 0; round < rounds; round++) {
            std::vector<BusyTime> busy_times;
            for (std::int64_t i = between(0, most_busy_intervals); i > 0; i--)
                busy_times.push_back(busy(most_spans));
            const auto expected = slow_own_parts(busy_times, kTick);
            const auto got = own_parts(busy_times, kTick);
            ASSERT_EQ(got.size(), expected.size());
            for (std::size_t i = 0; i < got.size(); i++) {
                // The part of an entry with a tiny probability is a difference of two large
                // numbers.
                const bool is_tiny = busy_times[i].spans.empty() && busy_times[i].by_chance < 1e-6;
                ASSERT_NEAR(got[i], expected[i], is_tiny ? 1e-6 : 1e-9)
                    << "round " << round << ", " << i << " of " << got.size();
            }
        }
    }

    std::mt19937_64 random_{20261124};
};

TEST_F(ArbiterDivisionTest, TheFormulaIsTheMeanOverAllWaysToMeet) {
    EXPECT_DOUBLE_EQ(own_part(0, {}), 1);
    EXPECT_DOUBLE_EQ(own_part(0, {0}), 1);
    EXPECT_DOUBLE_EQ(own_part(0, {1}), 0.5);
    EXPECT_DOUBLE_EQ(own_part(0, {1, 1, 1}), 0.25);
    EXPECT_DOUBLE_EQ(own_part(2, {1}), 0.25);
    EXPECT_DOUBLE_EQ(own_part(3, {}), 0.25);
    EXPECT_DOUBLE_EQ(own_part(0, {0.5}), 0.75);
    const std::vector<double> others = {0.1, 0.7, 0.4, 0.9};
    double counted = 0;
    constexpr int kDraws = 1'000'000;
    for (int draw = 0; draw < kDraws; draw++) {
        int met = 3;
        for (const double other : others)
            met += part() < other ? 1 : 0;
        counted += 1.0 / met;
    }
    EXPECT_NEAR(own_part(2, others), counted / kDraws, 0.001);
}

TEST_F(ArbiterDivisionTest, IsWhatTheFormulaSays) {
    expect_as_before(3000, 6, 4);
    expect_as_before(100, 16, 33);
    expect_as_before(20, 40, 8);
    expect_as_before(2, 150, 2);
}

TEST_F(ArbiterDivisionTest, ManyAtOnce) {
    for (const std::size_t many : {1U, 2U, 100U, 128U, 129U, 300U, 600U}) {
        // They begin one after the other, are in flight together, and then the last one is alone.
        std::vector<BusyTime> busy_times(many);
        for (std::size_t i = 0; i < many; i++) {
            const auto start = kTick.start_ns + static_cast<std::int64_t>(i) + 1;
            busy_times[i].spans = {{start, kTick.end_ns - (i + 1 < many ? 1'000'000 : 0)}};
        }
        const auto own = own_parts(busy_times, kTick);
        const double alone = many > 1 ? 1'000'000.0 : 9'999'999.0;
        double expected = many > 1 ? 9'000'000.0 / static_cast<double>(many) : 0;
        EXPECT_NEAR(own.front(), many > 1 ? expected / 9'000'000 : 1, 1e-5) << many;
        expected = (expected + alone) / 10'000'000;
        EXPECT_NEAR(own.back(), many > 1 ? expected : 1, 1e-4) << many;
    }
}

TEST_F(ArbiterDivisionTest, SeveralAsOne) {
    // 2.5 in the mean, beside one: two always, and a third one half of the time.
    const auto own = own_parts({{{}, 2.5}, {{kTick}, 0}}, kTick);
    EXPECT_NEAR(own[1], (1.0 / 3 + 1.0 / 4) / 2, 1e-9);
    EXPECT_NEAR(2.5 * own[0] + own[1], 1, 1e-9) << "all time is attributed";
    for (const double many : {1.0, 960.0, 100'000.0}) {
        const auto parts = own_parts({{{}, many}, {{}, many}, {{kTick}, 0}}, kTick);
        for (const double part : parts)
            EXPECT_TRUE(part >= 0 && part <= 1) << part;
    }
    EXPECT_EQ(own_parts({{{}, 0}}, kTick), std::vector<double>{1}) << "nothing in flight";
    EXPECT_TRUE(own_parts({}, kTick).empty());
}

}  // namespace
}  // namespace tessera::guard

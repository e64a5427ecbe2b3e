#include "domain/budget/charge.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "testing/builders/usage_records.hpp"

namespace tessera {
namespace {

constexpr auto kEveryBasis = std::to_array<ChargeBasis>(
    {ChargeBasis::memory, ChargeBasis::compute, ChargeBasis::larger, ChargeBasis::mean});

UsageRecord share(std::int64_t gib, int compute) {
    UsageRecord record = build::usage("p", {0, 60});
    record.memory = gibibytes(gib);
    record.compute = {compute};
    return record;
}

// Goal: four pods with a quarter of one GPU each cost exactly one GPU-hour in an hour, with every
// basis (opencost issue 3828: they were charged as four GPUs). Method: the records of an hour.
TEST(Charge, FourQuartersAreOneGpu) {
    for (const ChargeBasis basis : kEveryBasis) {
        GpuDuration sum;
        for (const std::string pod : {"a", "b", "c", "d"}) {
            for (const UsageRecord& record : build::usages(build::usage(pod, {0, 3600})))
                sum += charge(record, {.basis = basis, .weights = {}});
        }
        EXPECT_TRUE(sum == gpu_hours(1)) << to_string(basis) << ": " << to_string(sum);
        EXPECT_EQ(gpu_hours_text(sum), "1.000");
    }
}

// Goal: each basis counts what it says. Method: a table of shares of a GPU with 80 GiB.
TEST(Charge, CountsByBasis) {
    struct Case {
        UsageRecord record;
        std::int64_t memory, compute, larger, mean;  // nanoseconds per second
    };
    UsageRecord whole = share(0, 0);
    whole.whole = true;
    constexpr std::int64_t kOne = kNanosPerSecond;
    for (const Case& c :
         std::vector<Case>{{share(20, 50), kOne / 4, kOne / 2, kOne / 2, kOne * 3 / 8},
                           {share(40, 25), kOne / 2, kOne / 4, kOne / 2, kOne * 3 / 8},
                           {share(40, 0), kOne / 2, 0, kOne / 2, kOne / 4},
                           {share(0, 30), 0, kOne * 3 / 10, kOne * 3 / 10, kOne * 15 / 100},
                           {share(80, 100), kOne, kOne, kOne, kOne},
                           {whole, kOne, kOne, kOne, kOne}}) {
        EXPECT_EQ(charge_rate(c.record, ChargeBasis::memory, {}), c.memory);
        EXPECT_EQ(charge_rate(c.record, ChargeBasis::compute, {}), c.compute);
        EXPECT_EQ(charge_rate(c.record, ChargeBasis::larger, {}), c.larger);
        EXPECT_EQ(charge_rate(c.record, ChargeBasis::mean, {}), c.mean);
    }
}

// Goal: the rate is rounded down, and the largest valid record does not overflow.
TEST(Charge, RoundsDown) {
    UsageRecord third = share(0, 0);
    third.capacity = {3};
    third.memory = {1};
    EXPECT_EQ(charge_rate(third, ChargeBasis::memory, {}), 333'333'333);
    third.memory = {2};
    EXPECT_EQ(charge_rate(third, ChargeBasis::memory, {}), 666'666'666);
    UsageRecord largest = share(0, 100);
    largest.capacity = {std::int64_t{1} << 50};
    largest.memory = largest.capacity;
    ASSERT_TRUE(check_record(largest));
    for (const ChargeBasis basis : kEveryBasis)
        EXPECT_EQ(charge_rate(largest, basis, kMostWeight), 1'000 * kNanosPerSecond);
}

// Goal: a weight is of a model by its words, and the longest name wins.
TEST(Charge, WeightsByModel) {
    const ChargeRule rule{.basis = ChargeBasis::larger,
                          .weights = {{"A100", {2'000'000}},
                                      {"A100-SXM4-80GB", {3'000'000}},
                                      {"T4", {500'000}},
                                      {"NVIDIA", {9'000'000}}}};
    EXPECT_EQ(weight_of(rule, "NVIDIA A100-SXM4-80GB").millionths, 3'000'000);
    EXPECT_EQ(weight_of(rule, "NVIDIA A100-PCIE-40GB").millionths, 9'000'000);
    EXPECT_EQ(weight_of(rule, "Tesla T4").millionths, 500'000);
    EXPECT_EQ(weight_of(rule, "Tesla T40").millionths, 1'000'000);
    EXPECT_EQ(weight_of(rule, "").millionths, 1'000'000);
    UsageRecord record = build::usage("p", {0, 60});
    record.model = "Tesla T4";
    record.whole = true;
    EXPECT_TRUE(charge(record, rule) == gpu_seconds(30));
}

// Goal: a name of a basis is read back, and any other text is refused with the names.
TEST(Charge, ReadsTheBasis) {
    for (const ChargeBasis basis : kEveryBasis)
        EXPECT_EQ(parse_charge_basis(to_string(basis)).value(), basis);
    for (const std::string_view text : {"", "Memory", "memory ", "both", "average"}) {
        const auto basis = parse_charge_basis(text);
        ASSERT_FALSE(basis) << text;
        EXPECT_NE(basis.error().text.find("write memory, compute, larger or mean"),
                  std::string::npos);
    }
}

// Goal: shares that have at most the whole GPU together are charged at most the weight times the
// wall-clock time, and less than 1 ns per second and share below it. Method: random cuts of a GPU
// among up to eight shares.
RC_GTEST_PROP(ChargeProperty, SharesOfOneGpuAreAtMostOneGpu, ()) {
    const auto basis =
        *rc::gen::element(ChargeBasis::memory, ChargeBasis::compute, ChargeBasis::mean);
    const GpuWeight weight{*rc::gen::inRange(kLeastWeight.millionths, kMostWeight.millionths + 1)};
    const Bytes capacity{*rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 50)};
    const int shares = *rc::gen::inRange(1, 9);
    Bytes free = capacity;
    Percent idle{100};
    std::int64_t rates = 0;
    for (int i = 0; i < shares; ++i) {
        UsageRecord record = build::usage("p", {0, 60});
        const bool is_last = i + 1 == shares;
        record.capacity = capacity;
        record.memory = {is_last ? free.count : *rc::gen::inRange<std::int64_t>(0, free.count + 1)};
        record.compute = {is_last ? idle.value : *rc::gen::inRange(0, idle.value + 1)};
        free -= record.memory;
        idle = idle - record.compute;
        RC_ASSERT(check_record(record).has_value());
        rates += charge_rate(record, basis, weight);
    }
    const std::int64_t whole = weight.millionths * (kNanosPerSecond / kMillionths);
    RC_ASSERT(rates <= whole);
    RC_ASSERT(rates > whole - shares);
}

// Goal: cutting a record changes its charge by nothing.
RC_GTEST_PROP(ChargeProperty, CutsChangeNothing, ()) {
    UsageRecord record = build::usage("p", {0, 3600});
    record.memory = {*rc::gen::inRange<std::int64_t>(0, record.capacity.count + 1)};
    record.compute = {*rc::gen::inRange(0, 101)};
    const ChargeRule rule{
        .basis = *rc::gen::elementOf(std::vector(kEveryBasis.begin(), kEveryBasis.end())),
        .weights = {{"A100", {*rc::gen::inRange<std::int64_t>(1, 3'000'000)}}}};
    UsageRecord first = record;
    UsageRecord second = record;
    first.time.to_s = second.time.from_s =
        record.time.from_s + *rc::gen::inRange<std::int64_t>(0, 3601);
    RC_ASSERT(charge(first, rule) + charge(second, rule) == charge(record, rule));
}

}  // namespace
}  // namespace tessera

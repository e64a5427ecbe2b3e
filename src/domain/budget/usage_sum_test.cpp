#include "domain/budget/usage_sum.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "domain/budget/charge.hpp"
#include "testing/builders/reaching_prop.hpp"
#include "testing/builders/usage_records.hpp"

namespace tessera {
namespace {

// Goal: sums by shape are charged exactly what their records are, with every basis and weight.
REACHING_PROP(UsageSum, IsChargedAsItsRecords) {
    const std::vector<UsageRecord> records = build::any_usages();
    const ChargeRule rule{.basis = *rc::gen::element(ChargeBasis::memory, ChargeBasis::compute,
                                                     ChargeBasis::larger, ChargeBasis::mean),
                          .weights = {{"T4", {*rc::gen::inRange<std::int64_t>(1, 3'000'000)}}}};
    GpuDuration of_records;
    std::map<UsageShape, std::int64_t> seconds;
    for (const UsageRecord& record : records) {
        of_records += charge(record, rule);
        seconds[shape_of(record)] += record.time.seconds();
    }
    GpuDuration of_sums;
    for (const auto& [shape, sum] : seconds)
        of_sums += charge(UsageSum{shape, sum}, rule);
    reached(seconds.size() > 1 && records.size() > seconds.size());
    RC_ASSERT(of_sums == of_records);
}

// Goal: a shape has every field that a charge depends on. Method: each field that is changed alone
// makes another shape, and the identity, the names and the time do not.
TEST(UsageSum, ShapesDifferInWhatIsCharged) {
    const UsageRecord record = build::usage("p", {0, 60});
    const auto differs = [&](void (*change)(UsageRecord&)) {
        UsageRecord changed = record;
        change(changed);
        return shape_of(changed) != shape_of(record);
    };
    EXPECT_TRUE(differs([](UsageRecord& r) { r.model = "Tesla T4"; }));
    EXPECT_TRUE(differs([](UsageRecord& r) { r.memory = gibibytes(21); }));
    EXPECT_TRUE(differs([](UsageRecord& r) { r.capacity = gibibytes(81); }));
    EXPECT_TRUE(differs([](UsageRecord& r) { r.compute = {26}; }));
    EXPECT_TRUE(differs([](UsageRecord& r) { r.whole = true; }));
    EXPECT_FALSE(differs([](UsageRecord& r) { r.pod = PodUid("q"); }));
    EXPECT_FALSE(differs([](UsageRecord& r) { r.gpu = GpuUuid("h"); }));
    EXPECT_FALSE(differs([](UsageRecord& r) { r.container = "side"; }));
    EXPECT_FALSE(differs([](UsageRecord& r) { r.name = {"other", "q"}; }));
    EXPECT_FALSE(differs([](UsageRecord& r) { r.time = {120, 130}; }));
}

}  // namespace
}  // namespace tessera

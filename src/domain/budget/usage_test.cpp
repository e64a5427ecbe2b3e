// Records, roll-ups and the curve of a namespace's usage.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "domain/budget/roll_up.hpp"
#include "domain/budget/usage_curve.hpp"
#include "testing/builders/reaching_prop.hpp"
#include "testing/builders/usage_records.hpp"

namespace tessera {
namespace {

using build::any_usages;
using build::kHour;
using build::kSomeMidnight;
using build::shuffled;
using build::usage;

// Half of both shares, and a third of a T4.
ChargeRule some_rule() {
    return {.basis = ChargeBasis::mean, .weights = {{"T4", {333'333}}}};
}

std::vector<UsageRecord> joined(std::vector<UsageRecord> a, const std::vector<UsageRecord>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Window any_window() {
    const auto from_s = *rc::gen::inRange<std::int64_t>(-kHour, 6 * kHour);
    const auto seconds = *rc::gen::inRange<std::int64_t>(0, 6 * kHour);
    return {kSomeMidnight + from_s, kSomeMidnight + from_s + seconds};
}

// The definition, in the simplest form: a table of keys, then a sum over seconds that count.
GpuDuration plain_fold(const std::vector<UsageRecord>& records, std::string_view ns,
                       Window window) {
    std::map<UsageKey, UsageRecord> by_key;
    for (const UsageRecord& record : records) {
        const auto [at, is_new] = by_key.try_emplace(key_of(record), record);
        const auto rank = [](const UsageRecord& r) { return std::pair(r.time.seconds(), r); };
        if (!is_new && rank(record) > rank(at->second)) at->second = record;
    }
    GpuDuration sum;
    for (auto& [key, record] : by_key) {
        record.time = intersect(record.time, window);
        if (record.name.ns == ns) sum += charge(record, some_rule());
    }
    return sum;
}

GpuDuration folded(const std::vector<UsageRecord>& records, Window window) {
    return UsageCurve::of(records, "team", some_rule()).value().used(window);
}

// Goal: a record that cannot be charged is refused; the message names the field and the fix.
TEST(UsageRecord, RefusesWhatCannotBeCharged) {
    struct Case {
        void (*damage)(UsageRecord&);
        std::string_view why;
    };
    for (const Case& c : std::vector<Case>{
             {[](UsageRecord& r) { r.pod = {}; }, "pod is empty"},
             {[](UsageRecord& r) { r.container = ""; }, "container is empty"},
             {[](UsageRecord& r) { r.gpu = {}; }, "gpu is empty"},
             {[](UsageRecord& r) { r.name.ns = ""; }, "name.ns is empty"},
             {[](UsageRecord& r) { r.time.from_s = -1; }, "time is before 1970 or after 2499"},
             {[](UsageRecord& r) { r.time.to_s = kEndOfTime + 1; }, "check the node's clock"},
             {[](UsageRecord& r) { r.time.to_s = r.time.from_s; }, "time is empty"},
             {[](UsageRecord& r) { r.time.to_s = r.time.from_s - 5; }, "time is empty"},
             {[](UsageRecord& r) { r.time.to_s = r.time.from_s + 3601; }, "time is of several"},
             {[](UsageRecord& r) { r.capacity = {}; }, "capacity is 0 bytes"},
             {[](UsageRecord& r) { r.capacity = {(std::int64_t{1} << 50) + 1}; }, "capacity is "},
             {[](UsageRecord& r) { r.memory = {-1}; }, "memory is -1 bytes; write 0 to"},
             {[](UsageRecord& r) { r.memory = r.capacity + Bytes{1}; }, "memory is 85899345921"},
             {[](UsageRecord& r) { r.compute = {-1}; }, "compute is -1 percent"},
             {[](UsageRecord& r) { r.compute = {101}; }, "compute is 101 percent; write 0 to 100"},
         }) {
        UsageRecord record = usage("p", {0, 60});
        ASSERT_TRUE(check_record(record));
        c.damage(record);
        const auto checked = check_record(record);
        ASSERT_FALSE(checked) << c.why;
        EXPECT_EQ(checked.error().code, Code::invalid_argument);
        EXPECT_NE(checked.error().text.find(c.why), std::string::npos) << checked.error().text;
        EXPECT_FALSE(UsageCurve::of(std::vector{record}, "team", some_rule()));
    }
}

// Goal: intervals are aligned to the epoch, and the first and the last one may be short.
TEST(UsageRecord, SplitsIntoAlignedIntervals) {
    const auto pieces = split_into_intervals(usage("p", {50, 190}));
    ASSERT_EQ(pieces.size(), 4U);
    const std::vector<std::pair<int, int>> times = {{50, 60}, {60, 120}, {120, 180}, {180, 190}};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_EQ(pieces[i].time.from_s, kSomeMidnight + times[i].first);
        EXPECT_EQ(pieces[i].time.to_s, kSomeMidnight + times[i].second);
        EXPECT_EQ(key_of(pieces[i]).interval, kSomeMidnight / 60 + static_cast<int>(i));
    }
}

// Goal: an hour of a container that runs on unchanged is one row, and a gap, a resize, an hour's
// end, another container or another GPU starts a row.
TEST(RollUp, JoinsWhatContinues) {
    EXPECT_EQ(roll_up(build::usages(usage("p", {0, 3600}))), std::vector{usage("p", {0, 3600})});
    EXPECT_EQ(roll_up(build::usages(usage("p", {1800, 5400}))),
              (std::vector{usage("p", {1800, 3600}), usage("p", {3600, 5400})}));
    EXPECT_EQ(roll_up(std::vector{usage("p", {0, 60}), usage("p", {120, 180})}).size(), 2U);
    EXPECT_EQ(roll_up(std::vector{usage("p", {0, 59}), usage("p", {60, 120})}).size(), 2U);
    const std::vector<void (*)(UsageRecord&)> changes = {
        [](UsageRecord& r) { r.pod = PodUid("q"); },
        [](UsageRecord& r) { r.container = "side"; },
        [](UsageRecord& r) { r.gpu = GpuUuid("h"); },
        [](UsageRecord& r) { r.name.name = "renamed"; },
        [](UsageRecord& r) { r.model = "Tesla T4"; },
        [](UsageRecord& r) { r.memory = gibibytes(30); },
        [](UsageRecord& r) { r.capacity = gibibytes(90); },
        [](UsageRecord& r) { r.compute = {30}; },
        [](UsageRecord& r) { r.whole = true; },
    };
    for (const auto change : changes) {
        UsageRecord changed = usage("p", {60, 120});
        change(changed);
        EXPECT_EQ(roll_up(std::vector{usage("p", {0, 60}), changed}).size(), 2U);
    }
}

// Goal: a node that returns after a day sends records that the store has rolled up: none is charged
// again, and those that never arrived are charged.
TEST(RollUp, LateRecordsMeetTheirIntervals) {
    auto stored = roll_up(
        joined(build::usages(usage("p", {0, 1200})), build::usages(usage("p", {1260, 3600}))));
    ASSERT_EQ(stored.size(), 2U);
    const auto sent_again = build::usages(usage("p", {0, 3600}));
    const Window hour{kSomeMidnight, kSomeMidnight + 3600};
    EXPECT_TRUE(folded(joined(stored, sent_again), hour) == folded(sent_again, hour));
    EXPECT_EQ(roll_up(joined(stored, sent_again)), std::vector{usage("p", {0, 3600})});
}

// Goal: a pod that is renamed or recreated does not share records with its predecessor: its uid
// differs. The same pod in two namespaces is charged to one of them.
TEST(UsageCurve, ChargesEachKeyToOneNamespace) {
    const auto a = usage("p", {0, 60}, "a");
    const auto b = usage("p", {0, 60}, "b");
    const Window hour{kSomeMidnight, kSomeMidnight + 3600};
    const auto used = [&](std::string_view ns) {
        return UsageCurve::of(std::vector{a, b, a}, ns, some_rule()).value().used(hour);
    };
    EXPECT_TRUE(used("a") + used("b") == charge(a, some_rule()));
}

// Goal: a window that ends within a record has its seconds, to the second.
TEST(UsageCurve, CountsPartsOfRecords) {
    const auto curve =
        UsageCurve::of(std::vector{usage("p", {0, 3600})}, "team", some_rule()).value();
    const auto used = [&](std::int64_t from_s, std::int64_t to_s) {
        return curve.used({kSomeMidnight + from_s, kSomeMidnight + to_s});
    };
    EXPECT_TRUE(used(0, 3600) == gpu_seconds(900));
    EXPECT_TRUE(used(-100, 4000) == gpu_seconds(900));
    EXPECT_TRUE(used(4, 8) == gpu_seconds(1));
    EXPECT_TRUE(used(3596, 3700) == gpu_seconds(1));
    EXPECT_TRUE(used(3600, 7200) == GpuDuration{});
    EXPECT_TRUE(used(8, 4) == GpuDuration{});
    EXPECT_TRUE(UsageCurve{}.used({0, kEndOfTime}) == GpuDuration{});
}

// Goal: a curve of sums is exact where windows end, also beside a gap, and in between it is even.
TEST(UsageCurve, OfWindows) {
    const auto curve = UsageCurve::of_windows(std::vector<UsedWindow>{
        {{0, 10}, {105}}, {{10, 20}, {}}, {{20, 30}, gpu_seconds(20)}, {{50, 51}, {7}}});
    const auto used = [&](std::int64_t from_s, std::int64_t to_s) {
        return curve.used({from_s, to_s}).nanos;
    };
    EXPECT_TRUE(used(-5, 0) == 0);
    EXPECT_TRUE(used(0, 10) == 105);
    EXPECT_TRUE(used(0, 1) == 10);
    EXPECT_TRUE(used(9, 10) == 15);
    EXPECT_TRUE(used(10, 20) == 0);
    EXPECT_TRUE(used(20, 25) == 10 * kNanosPerSecond);
    EXPECT_TRUE(used(30, 50) == 0);
    EXPECT_TRUE(used(50, 51) == 7);
    EXPECT_TRUE(used(0, kEndOfTime) == 20 * kNanosPerSecond + 112);
    EXPECT_TRUE(curve.steps().back().rate == 0);
    EXPECT_TRUE(UsageCurve::of_windows({}).steps().empty());
}

// Goal: windows that overlap would charge twice, so they are refused.
TEST(UsageCurve, OfWindowsThatDoNotFollowEachOther) {
    const auto of = [](Window first, Window second) {
        return UsageCurve::of_windows(std::vector<UsedWindow>{{first, {}}, {second, {}}});
    };
    EXPECT_DEATH(of({0, 10}, {9, 20}), "windows follow each other");
    EXPECT_DEATH(of({10, 20}, {0, 10}), "windows follow each other");
    EXPECT_DEATH(of({0, 10}, {10, 10}), "a window can have usage");
}

// Goal: the curve is the sum of the charges of the distinct records, in any window. Method: random
// records with copies, gaps, resizes and contradictions, against the definition.
REACHING_PROP(UsageProperty, CurveIsThePlainFold) {
    const auto records = any_usages();
    const Window window = any_window();
    const GpuDuration expected = plain_fold(records, "team", window);
    reached(expected > GpuDuration{});
    RC_ASSERT(folded(records, window) == expected);
}

// Goal: neither the order nor copies matter.
RC_GTEST_PROP(UsageProperty, OrderAndCopiesDoNotMatter, ()) {
    const auto records = any_usages();
    const Window window = any_window();
    RC_ASSERT(folded(shuffled(joined(records, records)), window) == folded(records, window));
    RC_ASSERT(distinct_records(shuffled(joined(records, records))) == distinct_records(records));
}

// Goal: roll-ups and recent records together give what the raw records give, also when a record
// that was rolled up arrives again. Method: a random part is rolled up, and a random part stays.
REACHING_PROP(UsageProperty, RollUpsEqualRawRecords) {
    const auto records = any_usages();
    std::vector<UsageRecord> older;
    std::vector<UsageRecord> recent;
    for (const UsageRecord& record : records) {
        const int where = *rc::gen::inRange(0, 3);
        if (where != 0) older.push_back(record);
        if (where != 1) recent.push_back(record);
    }
    const auto rolled = roll_up(older);
    reached(rolled.size() < older.size());
    const Window window = any_window();
    RC_ASSERT(folded(joined(rolled, recent), window) == folded(records, window));
    RC_ASSERT(roll_up(joined(rolled, recent)) == roll_up(records));
    for (const UsageRecord& record : rolled)
        RC_ASSERT(check_record(record).has_value());
}

// Goal: a curve of the sums in windows is exact for windows that end where those do. Method: random
// times, against the curve of the records.
REACHING_PROP(UsageProperty, SumsOfWindowsAreExactAtTheirEnds) {
    const auto exact = UsageCurve::of(any_usages(), "team", some_rule()).value();
    std::vector<std::int64_t> times(static_cast<std::size_t>(*rc::gen::inRange(2, 8)));
    for (std::int64_t& time : times)
        time = any_window().from_s;
    std::ranges::sort(times);
    times.erase(std::ranges::unique(times).begin(), times.end());
    std::vector<UsedWindow> windows;
    for (std::size_t i = 1; i < times.size(); ++i) {
        const Window window{times[i - 1], times[i]};
        windows.push_back({window, exact.used(window)});
    }
    const auto curve = UsageCurve::of_windows(windows);
    const Window all{times.front(), times.back()};
    reached(curve.steps().size() > 2 && exact.used(all) > GpuDuration{});
    for (const std::int64_t from_s : times)
        for (const std::int64_t to_s : times)
            RC_ASSERT(curve.used({from_s, to_s}) == exact.used({from_s, to_s}));
    const Window any = any_window();
    RC_ASSERT(curve.used(any) >= GpuDuration{});
    RC_ASSERT(curve.used(any) <= exact.used(all));
}

// Goal: adjacent windows add up exactly: no second is in two periods or in none.
RC_GTEST_PROP(UsageProperty, WindowsAddUp, ()) {
    const auto curve = UsageCurve::of(any_usages(), "team", some_rule()).value();
    const Window window = any_window();
    const auto middle = *rc::gen::inRange(window.from_s, window.to_s + 1);
    RC_ASSERT(curve.used({window.from_s, middle}) + curve.used({middle, window.to_s}) ==
              curve.used(window));
}

}  // namespace
}  // namespace tessera

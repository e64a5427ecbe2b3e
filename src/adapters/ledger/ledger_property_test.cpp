// The store against the domain's fold, with random records and calls.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "adapters/ledger/ledger_fixture_test.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

using build::any_usages;
using build::kHour;
using build::kSomeMidnight;
using build::shuffled;

// Of some minutes around the end of an hour: shares that change, contradict each other and arrive
// in any order meet in fewer rows than any_usages has.
std::vector<UsageRecord> some_usages() {
    std::vector<UsageRecord> records = any_usages();
    const std::int64_t middle = kSomeMidnight + kHour * *rc::gen::inRange<std::int64_t>(0, 4);
    std::erase_if(records, [&](const UsageRecord& record) {
        return intersect(record.time, {middle - 480, middle + 480}).seconds() == 0;
    });
    return shuffled(std::move(records));
}

Window any_window() {
    const auto any_second = [] { return *rc::gen::inRange<std::int64_t>(-kHour, 6 * kHour); };
    // Half of the edges are edges of hours.
    const auto any_edge = [&] {
        const std::int64_t second = any_second();
        return kSomeMidnight + (*rc::gen::arbitrary<bool>() ? second : second / kHour * kHour);
    };
    const std::int64_t from_s = any_edge();
    return {from_s, any_edge()};
}

std::int64_t intervals_of(const std::vector<UsageRecord>& records) {
    std::int64_t count = 0;
    for (const UsageRecord& record : records)
        count += std::ssize(split_into_intervals(record));
    return count;
}

void add_some(LedgerStore& store, const std::vector<UsageRecord>& records) {
    const auto added = store.add(records);
    if (!added) RC_FAIL(added.error().text);
    RC_ASSERT(added->added + added->copies == intervals_of(records));
}

// Adds the records in parts, with copies, roll-ups and reopened stores in between.
void add_in_parts(const TestDatabase& database, std::unique_ptr<LedgerStore>& store,
                  const std::vector<UsageRecord>& records) {
    for (std::size_t from = 0; from < records.size();) {
        const auto size = *rc::gen::inRange<std::size_t>(1, records.size() - from + 1);
        const auto at = records.begin() + static_cast<std::ptrdiff_t>(from);
        const std::vector<UsageRecord> part(at, at + static_cast<std::ptrdiff_t>(size));
        from += size;
        add_some(*store, part);
        switch (*rc::gen::inRange(0, 5)) {
            case 0:
                add_some(*store, part);
                break;
            case 1:  // some of what is stored, and of what follows
                add_some(*store, roll_up(part));
                break;
            case 2:
                store.reset();
                store = database.open();
                break;
            default:
                RC_ASSERT(store->roll_up(any_window().to_s, {}).has_value());
        }
    }
}

// Goal: whatever arrives in any order, with copies, roll-ups and reopened stores in between, the
// store has the distinct records, and their exact sums in any window. Roll-ups are the domain's.
void has_the_distinct_records(const TestDatabase& database, Reached& reached) {
    const std::vector<UsageRecord> records = some_usages();
    auto store = database.open();
    add_in_parts(database, store, records);
    RC_ASSERT(has_exactly(*store, records, any_window()));
    const std::vector<UsageRecord> joined = roll_up(records);
    const auto rolled_up = store->roll_up(kEndOfTime, {});
    RC_ASSERT(rolled_up.has_value());
    RC_ASSERT(store->roll_up(kEndOfTime, {})->rows_before == 0);
    RC_ASSERT(has_exactly(*store, records, any_window()));
    for (const std::string ns : {"team", "other"}) {
        std::vector<UsageRecord> expected = joined;
        std::erase_if(expected, [&](const UsageRecord& record) { return record.name.ns != ns; });
        RC_ASSERT(store->records(ns, kAlways).value() == expected);
    }
    RC_ASSERT(store->add(records)->added == 0);
    const std::int64_t cut_s = any_window().to_s;
    RC_ASSERT(store->remove_before(cut_s, {}).has_value());
    RC_ASSERT(has_exactly(*store, records,
                          {std::max<std::int64_t>(cut_s, 0) / kHour * kHour, kEndOfTime}));
    RC_ASSERT(store->records("team", {0, cut_s / kHour * kHour})->empty());
    RC_ASSERT(store->add(records)->added == 0);
    reached(joined.size() < distinct_records(records).size());
}

REACHING_PROP(LedgerProperty, SqliteHasTheDistinctRecords) {
    const TestDatabase database(Engine::sqlite);
    has_the_distinct_records(database, reached);
}

REACHING_PROP(LedgerProperty, PostgresqlHasTheDistinctRecords) {
    const TestDatabase database(Engine::postgresql);
    has_the_distinct_records(database, reached);
}

}  // namespace
}  // namespace tessera

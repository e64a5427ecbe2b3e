// What each database does, as the port says it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <new>
#include <random>
#include <stop_token>
#include <thread>

#include "adapters/ledger/connection.hpp"
#include "adapters/ledger/ledger_fixture_test.hpp"

namespace tessera {
namespace {

using build::kHour;
using build::kSomeMidnight;
using build::usage;
using build::usages;

class LedgerStoreTest : public ::testing::TestWithParam<Engine> {
  protected:
    TestDatabase database_{GetParam()};
};

// What every store does, the fake included.
class LedgerContractTest : public LedgerStoreTest {};

INSTANTIATE_TEST_SUITE_P(Ledger, LedgerContractTest,
                         ::testing::Values(Engine::sqlite, Engine::postgresql, Engine::memory),
                         [](const auto& engine) { return engine_name(engine.param); });

INSTANTIATE_TEST_SUITE_P(Ledger, LedgerStoreTest,
                         ::testing::Values(Engine::sqlite, Engine::postgresql),
                         [](const auto& engine) { return engine_name(engine.param); });

std::vector<UsageRecord> joined(std::vector<UsageRecord> a, const std::vector<UsageRecord>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::int64_t count_rows(const TestDatabase& database, const std::string& table) {
    std::int64_t count = 0;
    *database.session() << "SELECT COUNT(*) FROM " + table, soci::into(count);
    return count;
}

// The records of one interval of some pods, with a change of shape now and then.
std::vector<UsageRecord> minute(std::int64_t number) {
    std::vector<UsageRecord> records;
    for (int pod = 0; pod < 20; ++pod) {
        UsageRecord record = usage("p" + std::to_string(pod), {number * 60, number * 60 + 60},
                                   pod % 2 == 0 ? "team" : "other");
        record.compute = {static_cast<int>(number / 20 % 3)};
        records.push_back(std::move(record));
    }
    return records;
}

// Goal: a call counts what is new, what replaces a shorter record, and what the store had.
TEST_P(LedgerContractTest, CountsNewRecordsAndCopies) {
    const auto store = database_.open();
    const std::vector<UsageRecord> hour = usages(usage("p", {0, kHour}));
    const auto counts = [&](const std::vector<UsageRecord>& records) {
        const auto added = store->add(records).value();
        return std::pair(added.added, added.copies);
    };
    EXPECT_EQ(counts({}), std::pair(0L, 0L));
    EXPECT_EQ(counts(hour), std::pair(60L, 0L));
    EXPECT_EQ(counts(hour), std::pair(0L, 60L));
    EXPECT_EQ(counts(roll_up(hour)), std::pair(0L, 60L));
    const auto rolled_up = store->roll_up(kSomeMidnight + kHour, {}).value();
    EXPECT_EQ(rolled_up.rows_before, 60);
    EXPECT_EQ(rolled_up.rows_after, 1);
    EXPECT_EQ(counts(hour), std::pair(0L, 60L));
    EXPECT_EQ(store->roll_up(kSomeMidnight + kHour, {})->rows_before, 0);
    const UsageRecord shorter = usage("q", {0, 30});
    EXPECT_EQ(counts({shorter, shorter}), std::pair(1L, 1L));
    EXPECT_EQ(counts({usage("q", {0, 50}), usage("q", {0, 40})}), std::pair(1L, 1L));
    EXPECT_EQ(counts({usage("q", {10, 40})}), std::pair(0L, 1L));
}

// Goal: an hour that is not over yet is not rolled up, and a late record joins the others later.
TEST_P(LedgerContractTest, RollsUpWholeHours) {
    const auto store = database_.open();
    std::vector<UsageRecord> records = usages(usage("p", {0, 2 * kHour}));
    const UsageRecord late = records[30];
    records.erase(records.begin() + 30);
    ASSERT_TRUE(store->add(records));
    EXPECT_EQ(store->roll_up(kSomeMidnight + kHour - 1, {})->rows_before, 0);
    EXPECT_EQ(store->roll_up(kSomeMidnight + 2 * kHour - 1, {})->rows_after, 2);
    EXPECT_EQ(store->records("team", {0, kSomeMidnight + kHour})->size(), 2U);
    EXPECT_EQ(store->records("team", {kSomeMidnight + kHour, kEndOfTime})->size(), 60U);
    ASSERT_TRUE(store->add(std::vector{late}));
    EXPECT_EQ(store->roll_up(kSomeMidnight + kHour, {})->rows_after, 1);
    EXPECT_TRUE(has_exactly(*store, usages(usage("p", {0, 2 * kHour})), kAlways));
}

// Goal: a roll-up of more rows than a transaction has joins all of them.
TEST_P(LedgerContractTest, RollsUpManyRows) {
    const auto store = database_.open();
    std::vector<UsageRecord> records;
    for (int pod = 0; pod < 100; ++pod)
        records = joined(std::move(records), usages(usage("p" + std::to_string(pod), {0, kHour})));
    ASSERT_TRUE(store->add(records));
    const auto rolled_up = store->roll_up(kEndOfTime, {}).value();
    EXPECT_EQ(rolled_up.rows_before, 6000);
    EXPECT_EQ(rolled_up.rows_after, 100);
    EXPECT_EQ(store->roll_up(kEndOfTime, {})->rows_before, 0);
    EXPECT_EQ(store->records("team", kAlways).value(), roll_up(records));
}

// Goal: the longer of two records of one key counts, also where they are of several namespaces.
TEST_P(LedgerContractTest, ReplacesRecordsOfOneKey) {
    const auto store = database_.open();
    UsageRecord other = usage("p", {0, 60}, "other");
    other.whole = true;
    const std::vector<UsageRecord> records{usage("p", {0, 40}), usage("p", {60, 120}), other,
                                           usage("p", {5, 59})};
    for (const UsageRecord& record : records)
        ASSERT_TRUE(store->add(std::vector{record}));
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
    EXPECT_EQ(store->usage("other", kAlways).value(),
              (std::vector<UsageSum>{{shape_of(other), 60}}));
}

// Goal: nothing of a call is stored if one of its records is refused. The message names the field.
TEST_P(LedgerContractTest, RefusesRecords) {
    const auto store = database_.open();
    struct Case {
        void (*damage)(UsageRecord&);
        std::string_view why;
    };
    for (const Case& c : std::vector<Case>{
             {[](UsageRecord& r) { r.capacity = {}; }, "capacity is 0 bytes"},
             {[](UsageRecord& r) { r.time.to_s = r.time.from_s; }, "time is empty"},
             {[](UsageRecord& r) { r.pod = PodUid(std::string("a\0b", 3)); }, "pod is not print"},
             {[](UsageRecord& r) { r.container = "ä"; }, "container is not printable ASCII"},
             {[](UsageRecord& r) { r.gpu = GpuUuid("\x80"); }, "gpu is not printable ASCII"},
             {[](UsageRecord& r) { r.name.ns = "a\nb"; }, "name.ns is not printable ASCII"},
             {[](UsageRecord& r) { r.name.name = std::string(513, 'x'); }, "name.name is longer"},
             {[](UsageRecord& r) { r.model = std::string(513, 'x'); }, "model is longer than 512"},
         }) {
        UsageRecord damaged = usage("p", {60, 120});
        c.damage(damaged);
        const auto added = store->add(std::vector{usage("p", {0, 60}), damaged});
        ASSERT_FALSE(added) << c.why;
        EXPECT_EQ(added.error().code, Code::invalid_argument);
        EXPECT_NE(added.error().text.find(c.why), std::string::npos) << added.error().text;
    }
    EXPECT_TRUE(has_exactly(*store, {}, kAlways));
}

// Goal: the longest texts, the largest amounts and the first and last times are stored as they are,
// and no text is taken for SQL.
TEST_P(LedgerContractTest, StoresExtremes) {
    const auto store = database_.open();
    UsageRecord record = usage("p", {0, 60});
    // No byte of it repeats often enough to be compressed.
    std::mt19937 random(1);
    std::string text(512, ' ');
    for (char& c : text)
        c = static_cast<char>(std::uniform_int_distribution<int>(' ', '~')(random));
    record.pod = PodUid(text);
    record.container = "'; DROP TABLE usage_records; -- :ns \"$1\" ?";
    record.container.resize(512, '\\');
    record.gpu = GpuUuid(std::string(text.rbegin(), text.rend()));
    record.model = text;
    record.name.name = text.substr(1) + ":";
    record.capacity = {std::int64_t{1} << 50};
    record.memory = record.capacity - Bytes{1};
    record.compute = {100};
    record.time = {0, 60};
    UsageRecord last = record;
    last.time = {kEndOfTime - 60, kEndOfTime};
    last.name.ns = "other";
    const std::vector<UsageRecord> records{record, last};
    const auto added = store->add(records);
    ASSERT_TRUE(added) << added.error().text;
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
    EXPECT_TRUE(has_exactly(
        *store, records,
        {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}));
    EXPECT_EQ(store->records("team", kAlways).value(), std::vector{record});
}

// Goal: old hours go with their sums, and what is newer stays. Method: enough rows for several
// transactions.
TEST_P(LedgerContractTest, RemovesOldHours) {
    const auto store = database_.open();
    std::vector<UsageRecord> records;
    for (int pod = 0; pod < 45; ++pod) {
        const auto* const ns = pod % 2 == 0 ? "team" : "other";
        records = joined(std::move(records),
                         usages(usage("p" + std::to_string(pod), {0, 2 * kHour}, ns)));
    }
    const std::vector<UsageRecord> newer = usages(usage("p1", {2 * kHour, 2 * kHour + 120}));
    ASSERT_TRUE(store->add(records));
    ASSERT_TRUE(store->add(newer));
    EXPECT_TRUE(has_exactly(*store, joined(records, newer), kAlways));
    EXPECT_EQ(store->remove_before(kSomeMidnight + kHour - 1, {}).value(), 0);
    EXPECT_EQ(store->remove_before(kSomeMidnight + 3 * kHour - 1, {}).value(), std::ssize(records));
    EXPECT_TRUE(has_exactly(*store, newer, kAlways));
    for (const char* table : {"gpu_shares", "namespaces", "shapes"})
        EXPECT_EQ(GetParam() == Engine::memory ? 1 : count_rows(database_, table), 1) << table;
    EXPECT_EQ(store->remove_before(std::numeric_limits<std::int64_t>::max(), {}).value(), 2);
    EXPECT_TRUE(has_exactly(*store, {}, kAlways));
    for (const char* table :
         {"gpu_shares", "namespaces", "shapes", "hourly_usage", "pending_roll_ups"})
        EXPECT_EQ(GetParam() == Engine::memory ? 0 : count_rows(database_, table), 0) << table;
}

// Goal: what was removed stays so, whatever arrives later, and what is as old and new is ignored.
TEST_P(LedgerContractTest, IgnoresRemovedHours) {
    const auto store = database_.open();
    const std::vector<UsageRecord> records = usages(usage("p", {0, 2 * kHour}));
    const std::vector<UsageRecord> newer(records.begin() + 60, records.end());
    ASSERT_TRUE(store->add(records));
    EXPECT_EQ(store->remove_before(kSomeMidnight + kHour + 59, {}).value(), 60);
    const auto again = store->add(joined(records, usages(usage("late", {0, kHour}))));
    EXPECT_EQ(again->added, 0);
    EXPECT_EQ(again->copies, 180);
    EXPECT_TRUE(has_exactly(*store, newer, kAlways));
    ASSERT_TRUE(store->remove_before(kSomeMidnight - kHour, {})) << "an earlier time";
    EXPECT_EQ(store->add(records)->copies, 120);
    EXPECT_TRUE(has_exactly(*store, newer, kAlways));
}

// Goal: a roll-up and a removal that are stopped do nothing more, and the next ones do the rest.
TEST_P(LedgerContractTest, StopsBetweenParts) {
    const auto store = database_.open();
    const std::vector<UsageRecord> records = usages(usage("p", {0, kHour}));
    ASSERT_TRUE(store->add(records));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(store->roll_up(kEndOfTime, stop.get_token())->rows_before, 0);
    EXPECT_EQ(store->remove_before(kEndOfTime, stop.get_token()).value(), 0);
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
    EXPECT_EQ(store->roll_up(kEndOfTime, {})->rows_before, 60);
    EXPECT_EQ(store->remove_before(kEndOfTime, {}).value(), 1);
}

// Goal: of two states of a budget the one that was evaluated later stays, whatever order they are
// written in; budgets that no controller evaluates are removed after kBudgetsKeptSeconds.
TEST_P(LedgerContractTest, KeepsBudgets) {
    const auto store = database_.open();
    EXPECT_TRUE(store->budgets().value().empty());
    const auto kept = [](const std::string& uid, std::int64_t seen_s) {
        KeptBudget budget{.uid = uid, .state = {}, .reported = 80};
        budget.state.last_seen_s = seen_s;
        budget.state.current = {seen_s - 60, seen_s + 60};
        return budget;
    };
    constexpr std::int64_t kSeen = kSomeMidnight;
    const std::map<std::string, KeptBudget> first = {{"a", kept("a", kSeen)},
                                                     {"b", kept("b", kSeen)}};
    ASSERT_TRUE(store->keep_budgets(first));
    EXPECT_EQ(store->budgets().value(), first);
    KeptBudget older = kept("a", kSeen - 1);
    older.reported = 95;
    // "c" was made after "b" was deleted, by a controller whose clock is behind.
    ASSERT_TRUE(store->keep_budgets({{"a", older}, {"b", kept("c", kSeen - 1)}}));
    EXPECT_EQ(store->budgets().value(), (std::map<std::string, KeptBudget>{
                                            {"a", kept("a", kSeen)}, {"b", kept("c", kSeen - 1)}}));
    const std::int64_t later_s = kSeen + LedgerStore::kBudgetsKeptSeconds + 1;
    ASSERT_TRUE(store->keep_budgets({{"b", kept("c", later_s)}}));
    EXPECT_EQ(store->budgets().value(),
              (std::map<std::string, KeptBudget>{{"b", kept("c", later_s)}}));
}

// Goal: an hour that is not over needs no record to be read, and neither does a whole one. Method:
// the records are removed, so only the sums can answer.
TEST_P(LedgerStoreTest, AnswersFromSums) {
    const auto store = database_.open();
    std::vector<UsageRecord> records;
    for (const char* pod : {"p", "q"})
        records = joined(std::move(records), usages(usage(pod, {kHour / 2, kHour + 600})));
    ASSERT_TRUE(store->add(records));
    *database_.session() << "DELETE FROM usage_records";
    for (const Window window : {Window{0, kHour + 600}, Window{kHour / 2, kHour + 700},
                                Window{kHour / 2, kHour}, Window{kHour, kHour + 3000}}) {
        const Window asked{kSomeMidnight + window.from_s, kSomeMidnight + window.to_s};
        EXPECT_EQ(store->usage_by_namespace(asked).value(), plain_usage(records, asked));
    }
    EXPECT_TRUE(store->usage("team", {kSomeMidnight, kSomeMidnight + kHour / 2})->empty());
}

// Goal: a roll-up and a removal that a kill ends go on where they stopped.
TEST_P(LedgerStoreTest, SurvivesAKillBetweenParts) {
    std::vector<UsageRecord> records;
    for (int pod = 0; pod < 30; ++pod) {
        records = joined(std::move(records), usages(usage("p" + std::to_string(pod), {0, 2 * kHour},
                                                          pod % 2 == 0 ? "team" : "other")));
    }
    ASSERT_TRUE(database_.open()->add(records));
    const LedgerLimits limits{.rows = 60};
    for (const char* const pending : {"pending_roll_ups", "hourly_usage"}) {
        const bool is_roll_up = std::string_view(pending) == "pending_roll_ups";
        const std::int64_t before = count_rows(database_, pending);
        Child child([&](const Child& parent) {
            const auto store = database_.open(limits);
            parent.say('g');
            if (is_roll_up) (void)store->roll_up(kEndOfTime, {});
            if (!is_roll_up) (void)store->remove_before(kSomeMidnight + kHour, {});
        });
        EXPECT_EQ(child.hear(), 'g');
        // SQLite's reader must not be of this process while the child starts.
        while (count_rows(database_, pending) == before)
            std::this_thread::yield();
        child.kill();
        const auto store = database_.open(limits);
        EXPECT_TRUE(has_exactly(*store, records, {kSomeMidnight + kHour, kEndOfTime}));
        if (is_roll_up) {
            EXPECT_TRUE(has_exactly(*store, records, kAlways));
            ASSERT_TRUE(store->roll_up(kEndOfTime, {}));
            EXPECT_EQ(count_rows(database_, "usage_records"), 60);
            EXPECT_TRUE(has_exactly(*store, records, kAlways));
        } else {
            EXPECT_EQ(store->add(records)->added, 0) << "no removed record comes back";
            ASSERT_TRUE(store->remove_before(kSomeMidnight + kHour, {}));
            EXPECT_EQ(count_rows(database_, "usage_records"), 30);
            EXPECT_TRUE(store->records("team", {0, kSomeMidnight + kHour})->empty());
        }
    }
}

// Goal: large adds and a roll-up of many parts at the same time lose and double nothing, and the
// adds get their turn between the parts.
TEST_P(LedgerStoreTest, AddsDuringARollUp) {
    const auto store = database_.open({.rows = 60});
    const auto of_pods = [](const std::string& name, Window window) {
        std::vector<UsageRecord> records;
        for (int pod = 0; pod < 50; ++pod)
            records = joined(std::move(records), usages(usage(name + std::to_string(pod), window)));
        return records;
    };
    std::vector<UsageRecord> all = of_pods("old", {0, kHour});
    ASSERT_TRUE(store->add(all));
    std::atomic<bool> is_done = false;
    std::thread rolling([&] {
        EXPECT_TRUE(store->roll_up(kSomeMidnight + kHour, {}));
        is_done = true;
    });
    // What arrives for the hours of the roll-up is late.
    for (int adds = 0; adds < 5 || (adds < 50 && !is_done); ++adds) {
        const auto more = of_pods("new" + std::to_string(adds), {kHour - 120, kHour + 120});
        ASSERT_TRUE(store->add(more));
        all = joined(std::move(all), more);
    }
    rolling.join();
    EXPECT_TRUE(has_exactly(*store, all, kAlways));
    ASSERT_TRUE(store->roll_up(kEndOfTime, {}));
    EXPECT_TRUE(has_exactly(*store, all, kAlways));
}

// Goal: two stores on one database charge nothing twice. Method: threads add the same records in
// other orders while a third one rolls them up and reads.
TEST_P(LedgerStoreTest, SharesADatabase) {
    constexpr std::int64_t kMinutes = 90;
    const auto one = database_.open();
    const auto two = database_.open();
    std::atomic<std::int64_t> added = 0;
    std::atomic<int> adding = 2;
    const auto add = [&](LedgerStore& store, std::int64_t first, std::int64_t step) {
        for (std::int64_t i = 0; i < kMinutes; ++i) {
            const auto done = store.add(minute((first + i * step) % kMinutes));
            EXPECT_TRUE(done) << done.error().text;
            if (done) added += done->added;
        }
        --adding;
    };
    std::thread forward([&] { add(*one, 0, 1); });
    std::thread across([&] { add(*two, 45, 89); });
    while (adding > 0) {
        EXPECT_TRUE(two->roll_up(kEndOfTime, {}));
        EXPECT_TRUE(one->usage_by_namespace(kAlways));
    }
    forward.join();
    across.join();
    std::vector<UsageRecord> all;
    for (std::int64_t i = 0; i < kMinutes; ++i)
        all = joined(std::move(all), minute(i));
    EXPECT_EQ(added, std::ssize(all));
    EXPECT_TRUE(has_exactly(*one, all, kAlways));
}

// Goal: the same with two processes.
TEST_P(LedgerStoreTest, SharesADatabaseWithAProcess) {
    constexpr std::int64_t kMinutes = 90;
    const auto run = [&](std::int64_t first, std::int64_t step) {
        return [this, first, step](const Child& parent) {
            const auto store = database_.open();
            for (std::int64_t i = 0; i < kMinutes; ++i) {
                const bool is_right = store->add(minute((first + i * step) % kMinutes)) &&
                                      (i % 7 != 0 || store->roll_up(kEndOfTime, {}));
                if (!is_right) ::_exit(1);
            }
            parent.say('d');
        };
    };
    if (GetParam() == Engine::postgresql) (void)PostgresqlServer::shared();
    Child forward(run(0, 1));
    Child across(run(45, 89));
    EXPECT_EQ(forward.hear(), 'd');
    EXPECT_EQ(across.hear(), 'd');
    EXPECT_EQ(forward.wait(), 0);
    EXPECT_EQ(across.wait(), 0);
    std::vector<UsageRecord> all;
    for (std::int64_t i = 0; i < kMinutes; ++i)
        all = joined(std::move(all), minute(i));
    EXPECT_TRUE(has_exactly(*database_.open(), all, kAlways));
}

// The tables of a newer program.
void raise_version(const TestDatabase& database) {
    const auto session = database.session();
    *session << "UPDATE tessera_schema SET version = version + 1";
}

// Goal: a ledger of a newer program is refused, and is not changed.
TEST_P(LedgerStoreTest, RefusesNewerSchemas) {
    ASSERT_TRUE(database_.open()->add(minute(0)));
    raise_version(database_);
    const auto refused = database_.try_open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_NE(refused.error().text.find("use the newer Tessera"), std::string::npos);
    const auto session = database_.session();
    *session << "UPDATE tessera_schema SET version = version - 1";
    EXPECT_TRUE(has_exactly(*database_.open(), minute(0), kAlways));
}

// Goal: a program that is older than the tables neither reads nor writes them, also if they were
// changed while it ran.
TEST_P(LedgerStoreTest, StopsAtNewerSchemas) {
    const auto store = database_.open();
    ASSERT_TRUE(store->add(minute(0)));
    ASSERT_TRUE(store->usage("team", kAlways));
    raise_version(database_);
    EXPECT_EQ(store->add(minute(1)).error().code, Code::unsupported);
    EXPECT_EQ(store->usage("team", kAlways).error().code, Code::unsupported);
    EXPECT_EQ(store->roll_up(kEndOfTime, {}).error().code, Code::unsupported);
    EXPECT_EQ(store->remove_before(kEndOfTime, {}).error().code, Code::unsupported);
    const auto session = database_.session();
    *session << "UPDATE tessera_schema SET version = version - 1";
    EXPECT_TRUE(has_exactly(*store, minute(0), kAlways));
}

// Goal: a call gives up on a lock that another program keeps, and works when it is gone.
TEST_P(LedgerStoreTest, GivesUpOnLocks) {
    const auto store = database_.open({.lock = std::chrono::milliseconds(100)});
    ASSERT_TRUE(store->add(minute(0)));
    {
        const auto locked = database_.locked_session();
        const auto added = store->add(minute(1));
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, Code::unavailable);
        EXPECT_NE(added.error().text.find("locked by another program"), std::string::npos)
            << added.error().text;
        EXPECT_TRUE(has_exactly(*store, minute(0), kAlways)) << "reads do not wait";
    }
    EXPECT_TRUE(store->add(minute(1)));
    EXPECT_TRUE(has_exactly(*store, joined(minute(0), minute(1)), kAlways));
}

// Goal: a transaction whose work throws leaves nothing, whatever it throws.
TEST_P(LedgerStoreTest, RollsBackWhatThrows) {
    ASSERT_TRUE(database_.open()->add(minute(0)));
    const auto database = database_.database();
    Connection connection(*database);
    const auto insert = [](soci::session& sql) { sql << "DELETE FROM usage_records"; };
    EXPECT_THROW((void)connection.write([&](soci::session& sql) -> Result<> {
        insert(sql);
        throw std::bad_alloc();
    }),
                 std::bad_alloc);
    EXPECT_TRUE(connection.write([](soci::session&) -> Result<> { return {}; }));
    EXPECT_TRUE(has_exactly(*database_.open(), minute(0), kAlways));
}

// Adds minute after minute, rolls them up, and reports each that was added, until it is killed.
[[noreturn]] void add_until_killed(const TestDatabase& database, std::int64_t first, int report) {
    const auto store = database.open();
    for (std::int64_t i = first;; ++i) {
        if (!store->add(minute(i))) ::_exit(1);
        if (::write(report, &i, sizeof i) != sizeof i) ::_exit(2);
        if (i % 5 == 0 && !store->roll_up(kEndOfTime, {})) ::_exit(3);
    }
}

// The number of the last minute that a child added before it was killed, some time after `count`.
std::int64_t kill_a_child(const TestDatabase& database, std::int64_t first, std::int64_t count,
                          std::chrono::microseconds delay) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) add_until_killed(database, first, ends[1]);
    ::close(ends[1]);
    std::int64_t last = first - 1;
    std::int64_t reported = 0;
    while (last < first + count && ::read(ends[0], &reported, sizeof reported) > 0)
        last = reported;
    std::this_thread::sleep_for(delay);
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
    while (::read(ends[0], &reported, sizeof reported) > 0)
        last = reported;
    ::close(ends[0]);
    return last;
}

// Goal: a process that is killed at any instant loses nothing that it reported, and leaves no half
// of a call. Method: children that add and roll up are killed after random times.
TEST_P(LedgerStoreTest, SurvivesKilledProcesses) {
    std::mt19937 random(std::random_device{}());
    std::vector<UsageRecord> all = minute(0);
    ASSERT_TRUE(database_.open()->add(all));
    std::int64_t next = 1;
    for (int round = 0; round < 10; ++round) {
        const std::chrono::microseconds delay(std::uniform_int_distribution<int>(0, 5000)(random));
        const std::int64_t last = kill_a_child(database_, next, round % 3, delay);
        for (; next <= last; ++next)
            all = joined(std::move(all), minute(next));
        const auto store = database_.open();
        // This waits until the server has ended the transaction of the child.
        ASSERT_TRUE(store->add(minute(0)));
        // The last call may be stored, or not, and is whole.
        if (!store->records("team", {minute(next)[0].time.from_s, kEndOfTime})->empty())
            all = joined(std::move(all), minute(next++));
        ASSERT_TRUE(has_exactly(*store, all, kAlways)) << "after " << delay.count() << " us";
    }
    const auto store = database_.open();
    ASSERT_TRUE(store->roll_up(kEndOfTime, {}));
    EXPECT_TRUE(has_exactly(*store, all, kAlways));
}

}  // namespace
}  // namespace tessera

// Files and servers that a store cannot use: it says so, and changes nothing.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "adapters/ledger/ledger_fixture_test.hpp"
#include "adapters/ledger/postgresql/url.hpp"

namespace tessera {
namespace {

using build::kHour;
using build::usage;
using build::usages;

std::string content(const std::filesystem::path& file) {
    const std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

// 60 intervals each of a hundred pods.
std::vector<UsageRecord> many_records() {
    std::vector<UsageRecord> records;
    for (int pod = 0; pod < 100; ++pod) {
        std::ranges::move(usages(usage("p" + std::to_string(pod), {0, kHour})),
                          std::back_inserter(records));
    }
    return records;
}

class SqliteLedger : public ::testing::Test {
  protected:
    // Opening fails with this code and words, and the file is unchanged.
    void expect_refused(Code code, const std::string& words) const {
        const std::string before = content(database_.file());
        const auto store = database_.try_open();
        ASSERT_FALSE(store);
        EXPECT_EQ(store.error().code, code) << store.error().text;
        EXPECT_NE(store.error().text.find(words), std::string::npos) << store.error().text;
        EXPECT_EQ(store.error().text.find('\n'), std::string::npos);
        EXPECT_TRUE(content(database_.file()) == before);
    }

    TestDatabase database_{Engine::sqlite};
};

// Goal: a file of another kind or program is refused, and left untouched.
TEST_F(SqliteLedger, RefusesForeignFiles) {
    write(database_.file(), "a");
    expect_refused(Code::corrupt, "is no SQLite database");
    write(database_.file(), std::string(8192, 'x'));
    expect_refused(Code::corrupt, "restore a backup");
    std::filesystem::remove(database_.file());
    *database_.session() << "CREATE TABLE songs (name TEXT)";
    expect_refused(Code::invalid_argument, "is a database of another program");
    std::filesystem::remove(database_.file());
    std::filesystem::create_directory(database_.file());
    const auto store = database_.try_open();
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::invalid_argument);
    const auto missing = open_sqlite_ledger(database_.folder() / "none" / "ledger.db");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::unavailable);
    EXPECT_NE(missing.error().text.find("folder"), std::string::npos) << missing.error().text;
}

// Goal: an empty file, as of a program that was killed while it created the ledger, becomes one.
TEST_F(SqliteLedger, UsesEmptyFiles) {
    write(database_.file(), "");
    const auto records = usages(usage("p", {0, 120}));
    ASSERT_TRUE(database_.open()->add(records));
    EXPECT_TRUE(has_exactly(*database_.open(), records, kAlways));
}

// Goal: if the newest records are left without their file, no empty ledger takes its place.
TEST_F(SqliteLedger, RefusesALogWithoutItsFile) {
    const std::string log = database_.file().string() + "-wal";
    write(log, std::string(4096, 'x'));
    const auto store = database_.try_open();
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::corrupt);
    EXPECT_NE(store.error().text.find("put the file back"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(database_.file()));
    write(database_.file(), "");
    expect_refused(Code::corrupt, "is missing or empty");
    EXPECT_EQ(std::filesystem::file_size(log), 4096U);
    std::filesystem::remove(log);
    EXPECT_TRUE(database_.try_open());
}

// Goal: a process that opens and closes the ledger takes nothing from another one that has it open.
// Method: the other one adds more afterwards, and is killed.
TEST_F(SqliteLedger, KeepsRecordsBesideOtherProcesses) {
    const std::vector<UsageRecord> hour = usages(usage("p", {0, kHour}));
    const std::vector<UsageRecord> first(hour.begin(), hour.begin() + 30);
    for (const bool has_two_stores : {false, true}) {
        const TestDatabase database(Engine::sqlite);
        Child one([&](const Child& parent) {
            const auto store = database.open();
            bool is_right = store->add(first).has_value();
            is_right = is_right && store->usage("team", kAlways).has_value();
            if (has_two_stores) is_right = is_right && database.open()->usage("team", kAlways);
            parent.say(is_right ? 'o' : 'x');
            (void)parent.hear();
            parent.say(store->add(hour) ? 'a' : 'x');
            (void)parent.hear();
        });
        ASSERT_EQ(one.hear(), 'o');
        Child two([&](const Child&) { (void)database.open()->usage("team", kAlways); });
        ASSERT_EQ(two.wait(), 0);
        one.say('g');
        ASSERT_EQ(one.hear(), 'a');
        one.kill();
        EXPECT_TRUE(has_exactly(*database.open(), hour, kAlways)) << has_two_stores;
    }
}

// Goal: paths with spaces and equals signs are files as others.
TEST_F(SqliteLedger, OpensAnyPath) {
    for (const std::string name : {"a b  c.db", "a=b c.db", "'x'; y=\\z.db"}) {
        const auto store = open_sqlite_ledger(database_.folder() / name);
        ASSERT_TRUE(store) << store.error().text;
        EXPECT_TRUE(std::filesystem::exists(database_.folder() / name));
    }
    EXPECT_EQ(open_sqlite_ledger(database_.folder() / "a\"b").error().code, Code::invalid_argument);
}

// Goal: a damaged ledger is an error that says what to do; it is never replaced by an empty one.
// Method: each page but the first is overwritten, one at a time, and the header.
TEST_F(SqliteLedger, RefusesDamagedFiles) {
    ASSERT_TRUE(database_.open()->add(many_records()));
    const std::string good = content(database_.file());
    constexpr std::size_t kPage = 4096;
    ASSERT_GT(good.size(), 10 * kPage);
    for (std::size_t at = kPage; at + kPage <= good.size(); at += kPage) {
        std::string bad = good;
        bad.replace(at, 64, std::string(64, '\x7f'));
        write(database_.file(), bad);
        expect_refused(Code::corrupt, "restore a backup");
    }
    write(database_.file(), good.substr(0, good.size() / 2));
    expect_refused(Code::corrupt, "is damaged");
    write(database_.file(), good);
    EXPECT_TRUE(has_exactly(*database_.open(), many_records(), kAlways));
}

// Goal: if the file is removed while the store is open, no empty ledger takes its place.
TEST_F(SqliteLedger, DoesNotReplaceARemovedFile) {
    const auto store = database_.open();
    ASSERT_TRUE(store->add(usages(usage("p", {0, 60}))));
    for (const auto* suffix : {"", "-wal", "-shm"})
        std::filesystem::remove(database_.file().string() + suffix);
    EXPECT_EQ(store->add(usages(usage("p", {60, 120}))).error().code, Code::unavailable);
    // The first read makes a connection.
    const auto found = store->usage("team", kAlways);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::unavailable) << found.error().text;
    EXPECT_FALSE(std::filesystem::exists(database_.file()));
}

// Goal: a fault of the database never looks like one of the records, which agents would remove.
// Method: another program's file takes the place of the ledger while it is open.
TEST_F(SqliteLedger, NeverBlamesRecordsForAFile) {
    *database_.session() << "CREATE TABLE songs (name TEXT)";
    const std::string foreign = content(database_.file());
    for (const std::string& other : {foreign, std::string(8192, 'x')}) {
        for (const auto* suffix : {"", "-wal", "-shm"})
            std::filesystem::remove(database_.file().string() + suffix);
        const auto store = database_.open();
        ASSERT_TRUE(store->add(many_records()));
        std::filesystem::remove(database_.file());
        write(database_.file(), other);
        for (const auto* suffix : {"-wal", "-shm"})
            std::filesystem::remove(database_.file().string() + suffix);
        const auto added = store->add(usages(usage("q", {0, kHour})));
        ASSERT_FALSE(added);
        EXPECT_NE(added.error().code, Code::invalid_argument) << added.error().text;
        const auto found = store->usage("team", kAlways);
        ASSERT_FALSE(found);
        EXPECT_NE(found.error().code, Code::invalid_argument) << found.error().text;
        EXPECT_TRUE(content(database_.file()) == other);
    }
}

// The error of a process that may only read the file.
std::string error_without_permission(const TestDatabase& database) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr uid_t kNobody = 65534;
        // Root may write to any file.
        if (::geteuid() == 0 &&
            (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
            ::_exit(1);
        }
        const auto store = database.try_open();
        const std::string said =
            store ? "opened"
                  : std::string(code_name(store.error().code)) + ": " + store.error().text;
        ::_exit(::write(ends[1], said.data(), said.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string said(4096, ' ');
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], said.data(), 4096))));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said;
}

// Goal: a file that cannot be written, or read, is an error that says so.
TEST_F(SqliteLedger, RefusesReadOnlyFiles) {
    ASSERT_TRUE(database_.open()->add(usages(usage("p", {0, 120}))));
    ASSERT_EQ(::chmod(database_.folder().c_str(), 0555), 0);
    ASSERT_EQ(::chmod(database_.file().c_str(), 0444), 0);
    std::string said = error_without_permission(database_);
    EXPECT_TRUE(said.starts_with("permission_denied: ")) << said;
    EXPECT_NE(said.find("writable"), std::string::npos) << said;
    ASSERT_EQ(::chmod(database_.file().c_str(), 0), 0);
    said = error_without_permission(database_);
    EXPECT_TRUE(said.starts_with("permission_denied: ")) << said;
    ASSERT_EQ(::chmod(database_.file().c_str(), 0666), 0);
    said = error_without_permission(database_);
    EXPECT_NE(said, "opened");
    EXPECT_NE(said.find("folder"), std::string::npos) << said;
    ASSERT_EQ(::chmod(database_.folder().c_str(), 0755), 0);
}

// Goal: a full disk is an error, loses nothing, and the store works again when there is space.
// Method: a limit of pages, which SQLite reports as a full disk.
TEST_F(SqliteLedger, ReportsAFullDisk) {
    std::vector<UsageRecord> stored;
    {
        const auto store = open_sqlite_ledger(database_.file(), {.pages = 40}).value();
        bool is_full = false;
        for (int pod = 0; pod < 100 && !is_full; ++pod) {
            const auto records = usages(usage("p" + std::to_string(pod), {0, kHour}));
            if (const auto added = store->add(records)) {
                std::ranges::copy(records, std::back_inserter(stored));
            } else {
                is_full = true;
                EXPECT_EQ(added.error().code, Code::unavailable);
                EXPECT_NE(added.error().text.find("is full"), std::string::npos)
                    << added.error().text;
            }
        }
        ASSERT_TRUE(is_full);
        EXPECT_FALSE(stored.empty());
        EXPECT_TRUE(has_exactly(*store, stored, kAlways));
    }
    const auto store = database_.open();
    EXPECT_TRUE(has_exactly(*store, stored, kAlways));
    ASSERT_TRUE(store->add(many_records()));
    EXPECT_TRUE(has_exactly(*store, many_records(), kAlways));
}

// Goal: a store outlives its server: calls fail while it is away, and work when it is back.
TEST(PostgresqlLedger, ReconnectsAfterARestart) {
    const TestDatabase database(Engine::postgresql);
    PostgresqlServer& server = PostgresqlServer::shared();
    const auto store = database.open();
    const std::vector<UsageRecord> records = usages(usage("p", {0, kHour}));
    const std::vector<UsageRecord> first(records.begin(), records.begin() + 30);
    ASSERT_TRUE(store->add(first));
    server.kill();
    for (int i = 0; i < 2; ++i) {
        const auto added = store->add(records);
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, Code::unavailable) << added.error().text;
        EXPECT_EQ(added.error().text.find('\n'), std::string::npos) << added.error().text;
        EXPECT_EQ(store->usage("team", kAlways).error().code, Code::unavailable);
        EXPECT_EQ(store->roll_up(kEndOfTime, {}).error().code, Code::unavailable);
    }
    EXPECT_EQ(database.try_open().error().code, Code::unavailable);
    server.start();
    EXPECT_TRUE(has_exactly(*store, first, kAlways));
    ASSERT_TRUE(store->add(records));
    server.kill();
    server.start();
    EXPECT_EQ(store->add(records)->copies, 60);
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
}

// The ids of the server's processes that serve other sessions, and wait for a lock if `is_waiting`.
std::vector<pid_t> backends(soci::session& sql, bool is_waiting) {
    int pid = 0;
    soci::statement find =
        (sql.prepare
             << "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND "
                "pid <> pg_backend_pid() AND (:any = 1 OR wait_event = 'advisory')",
         soci::use(is_waiting ? 0 : 1, "any"), soci::into(pid));
    std::vector<pid_t> pids;
    find.execute();
    while (find.fetch())
        pids.push_back(pid);
    return pids;
}

// Goal: a server that neither answers nor closes its connections ends no call: the store does.
// Later calls use a new connection. Method: stopped processes of the server, of which the kernel
// accepts data on.
TEST(PostgresqlLedger, GivesUpOnAServerThatHangs) {
    const TestDatabase database(Engine::postgresql);
    const auto store = database.open(
        {.turn = std::chrono::milliseconds(200), .transaction = std::chrono::milliseconds(1000)});
    const std::vector<UsageRecord> records = usages(usage("p", {0, kHour}));
    const std::vector<UsageRecord> first(records.begin(), records.begin() + 30);
    ASSERT_TRUE(store->add(first));
    auto locked = database.locked_session();
    std::thread waiting([&] {
        const auto added = store->add(records);
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, Code::unavailable) << added.error().text;
    });
    std::vector<pid_t> hung;
    while (hung.empty())
        hung = backends(*locked, true);
    ::kill(hung.at(0), SIGSTOP);
    const auto rolled_up = store->roll_up(kEndOfTime, {});
    ASSERT_FALSE(rolled_up);
    EXPECT_EQ(rolled_up.error().code, Code::unavailable);
    EXPECT_NE(rolled_up.error().text.find("busy with other calls"), std::string::npos)
        << rolled_up.error().text;
    waiting.join();
    ::kill(hung.at(0), SIGCONT);
    *locked << "ROLLBACK";
    EXPECT_TRUE(has_exactly(*store, first, kAlways));
    hung = backends(*locked, false);
    for (const pid_t pid : hung)
        ::kill(pid, SIGSTOP);
    EXPECT_TRUE(store->usage("team", kAlways)) << "with another connection";
    for (const pid_t pid : hung)
        ::kill(pid, SIGCONT);
    ASSERT_TRUE(store->add(records));
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
}

// Goal: likewise if the server hangs before it accepts a connection.
TEST(PostgresqlLedger, GivesUpOnConnecting) {
    const TestDatabase database(Engine::postgresql);
    PostgresqlServer& server = PostgresqlServer::shared();
    server.signal(SIGSTOP);
    const auto store = open_postgresql_ledger(server.url() + "&connect_timeout=2");
    server.signal(SIGCONT);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::unavailable);
}

// Goal: a standby is an error that a later call may not have: it can become the primary.
TEST(PostgresqlLedger, WaitsForAStandby) {
    const TestDatabase database(Engine::postgresql);
    PostgresqlServer& server = PostgresqlServer::shared();
    const auto store = database.open();
    const std::vector<UsageRecord> records = usages(usage("p", {0, 120}));
    ASSERT_TRUE(store->add(records));
    server.kill();
    server.start_as_standby();
    const auto added = store->add(records);
    EXPECT_TRUE(has_exactly(*store, records, kAlways));
    *database.session() << "SELECT pg_promote()";
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::unavailable);
    EXPECT_NE(added.error().text.find("standby"), std::string::npos) << added.error().text;
    EXPECT_EQ(store->add(records)->copies, 2);
}

// Goal: a text that is no URL of PostgreSQL is refused. No error contains the URL.
TEST(PostgresqlLedger, RefusesOtherUrls) {
    for (const std::string url : {"", "ledger.db", "mysql://secret@host/db", "host=secret"}) {
        const auto store = open_postgresql_ledger(url);
        ASSERT_FALSE(store) << url;
        EXPECT_EQ(store.error().code, Code::invalid_argument);
        EXPECT_EQ(store.error().text.find("secret"), std::string::npos);
    }
    const auto store = open_postgresql_ledger("postgresql://u:secret@/db?host=/tmp/none");
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::unavailable) << store.error().text;
    EXPECT_EQ(store.error().text.find("secret"), std::string::npos) << store.error().text;
}

// Goal: a password with characters that have a meaning in URLs is an error that does not quote it.
// So are parameters and ports that libpq would refuse later, with their values in the text.
TEST(PostgresqlLedger, NeverQuotesPasswords) {
    for (const std::string rest :
         {"u:pa50%zz@h/db", "u:se/cret@h/db", "u:se@cret@h/db", "u:12/cret@h/db", "u:se?cr@et@h/db",
          "u:s[e@cret@h/db", "u@se:cret@h/db", "u:@cret@h/db", "h:cret/db", "h:70000/db",
          "h:1,i:cret/db", "h/db?no_such=cret", "h/db?port=cret", "h/db?host=a,cr@et",
          "h/db?connect_timeout=0", "h/db?connect_timeout=cret", "h/db?host", "u:se#cret/@h"}) {
        const auto store = open_postgresql_ledger("postgresql://" + rest);
        ASSERT_FALSE(store) << rest;
        EXPECT_EQ(store.error().code, Code::invalid_argument) << rest;
        EXPECT_TRUE(store.error().text.starts_with("the ledger's URL cannot be read; write "))
            << store.error().text;
        EXPECT_EQ(store.error().text.find("cret"), std::string::npos) << store.error().text;
    }
}

// Goal: other URLs mean the same afterwards, and have timeouts.
TEST(PostgresqlLedger, ReadsUrls) {
    const std::string timeouts =
        "&keepalives_idle=10&keepalives_interval=5&keepalives_count=3&tcp_user_timeout=30000";
    struct Case {
        std::string text;
        std::string expected;
    };
    for (const Case& c : std::vector<Case>{
             {"postgres://", "connect_timeout=10"},
             {"postgresql://h", "connect_timeout=10&host=h"},
             {"postgresql://u:p%40%2f%20%25w@h:1/db",
              "user=u&password=p%40%2F%20%25w&connect_timeout=10&dbname=db&host=h&port=1"},
             {"postgresql://u:a?b@h/db",
              "user=u&password=a%3Fb&connect_timeout=10&dbname=db&host=h"},
             {"postgresql:///db?host=/run/a b&connect_timeout=3",
              "connect_timeout=3&dbname=db&host=%2Frun%2Fa%20b"},
             {"postgresql://[::1]:2,h2:/db%40?user=a@b",
              "user=a%40b&connect_timeout=10&dbname=db%40&host=%3A%3A1%2Ch2&port=2%2C"},
         }) {
        const auto url = read_postgresql_url(c.text);
        ASSERT_TRUE(url) << c.text;
        EXPECT_EQ(*url, "postgresql://?" + c.expected + timeouts) << c.text;
        EXPECT_EQ(read_postgresql_url(*url).value(), *url);
    }
}

}  // namespace
}  // namespace tessera

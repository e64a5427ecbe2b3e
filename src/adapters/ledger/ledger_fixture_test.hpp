// Databases for tests of the ledger's store, and the content that a store must have.
#pragma once

#include <gtest/gtest.h>
#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/ledger/open_ledger.hpp"
#include "adapters/ledger/postgresql_database.hpp"
#include "adapters/ledger/postgresql_server_test.hpp"
#include "adapters/ledger/sqlite_database.hpp"
#include "domain/budget/roll_up.hpp"
#include "testing/builders/usage_records.hpp"
#include "testing/fakes/fake_ledger_store.hpp"

namespace tessera {

// memory is the fake of the other tests, which has one store.
enum class Engine { sqlite, postgresql, memory };

inline std::string engine_name(Engine engine) {
    switch (engine) {
        case Engine::sqlite:
            return "Sqlite";
        case Engine::postgresql:
            return "Postgresql";
        case Engine::memory:
            break;
    }
    return "Memory";
}

// One database, empty at first.
class TestDatabase {
  public:
    explicit TestDatabase(Engine engine) : engine_(engine) {
        // In memory, where there is such a folder: the tests need not wait for a disk, and none of
        // them cuts the power.
        const std::filesystem::path memory = "/dev/shm";
        std::string name =
            (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
            "tessera-ledger-XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        clear();
    }
    ~TestDatabase() { std::filesystem::remove_all(folder_); }
    TestDatabase(const TestDatabase&) = delete;
    TestDatabase& operator=(const TestDatabase&) = delete;

    // Removes everything. No store may be open.
    void clear() {
        if (engine_ == Engine::sqlite) std::filesystem::remove(file());
        if (engine_ == Engine::postgresql) PostgresqlServer::shared().clear();
    }
    [[nodiscard]] std::filesystem::path folder() const { return folder_; }
    [[nodiscard]] std::filesystem::path file() const { return folder_ / "ledger.db"; }

    [[nodiscard]] Result<std::unique_ptr<LedgerStore>> try_open(LedgerLimits limits = {}) const {
        if (engine_ == Engine::memory) return std::make_unique<FakeLedgerStore>();
        if (engine_ == Engine::sqlite) return open_sqlite_ledger(file(), limits);
        return open_postgresql_ledger(PostgresqlServer::shared().url(), limits);
    }
    [[nodiscard]] std::unique_ptr<LedgerStore> open(LedgerLimits limits = {}) const {
        auto store = try_open(limits);
        EXPECT_TRUE(store) << store.error().text;
        return std::move(store).value();
    }
    // What a store is made of.
    [[nodiscard]] std::unique_ptr<const Database> database() const {
        if (engine_ == Engine::sqlite) return SqliteDatabase::open(file(), {}).value();
        return PostgresqlDatabase::of(PostgresqlServer::shared().url(), {}).value();
    }
    // A session beside the store's.
    [[nodiscard]] std::unique_ptr<soci::session> session() const {
        if (engine_ == Engine::sqlite) {
            // Seconds: a process that starts or ends locks the file for a moment.
            return std::make_unique<soci::session>(soci::sqlite3,
                                                   "db=" + file().string() + " timeout=20");
        }
        return std::make_unique<soci::session>(soci::postgresql, PostgresqlServer::shared().url());
    }

    // Another program that has the lock of a transaction that writes, until it ends.
    [[nodiscard]] std::unique_ptr<soci::session> locked_session() const {
        auto locked = session();
        *locked << (engine_ == Engine::sqlite ? "BEGIN IMMEDIATE" : "BEGIN");
        if (engine_ == Engine::postgresql) *locked << "SELECT pg_advisory_xact_lock(1415934835)";
        return locked;
    }

  private:
    Engine engine_;
    std::filesystem::path folder_;
};

// A process that runs `work`. Both sides send single letters, and wait for the other's. The process
// must not have a store open: its SQLite would count those locks as the child's.
class Child {
  public:
    explicit Child(const std::function<void(Child&)>& work) {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
        pid_ = ::fork();
        ::close(ends_.at(pid_ == 0 ? 0 : 1));
        socket_ = ends_.at(pid_ == 0 ? 1 : 0);
        if (pid_ != 0) return;
        work(*this);
        ::_exit(0);
    }
    ~Child() {
        kill();
        ::close(socket_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void say(char word) const {
        if (::send(socket_, &word, 1, MSG_NOSIGNAL) != 1 && pid_ == 0) ::_exit(2);
    }
    // 0 if the other process has ended.
    [[nodiscard]] char hear() const {
        char word = 0;
        return ::recv(socket_, &word, 1, 0) == 1 ? word : '\0';
    }
    void kill() {
        if (pid_ > 0) ::kill(pid_, SIGKILL);
        wait();
    }
    // The status of its end.
    int wait() {
        int status = -1;
        if (pid_ > 0) ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }

  private:
    std::array<int, 2> ends_{};
    int socket_ = -1;
    pid_t pid_ = -1;
};

using Usage = std::map<std::string, std::vector<UsageSum>>;

inline constexpr Window kAlways{0, kEndOfTime};

// The definition of usage_by_namespace: adds up the seconds of distinct records.
inline Usage plain_usage(const std::vector<UsageRecord>& added, Window window) {
    std::map<std::string, std::map<UsageShape, std::int64_t>> seconds;
    for (const UsageRecord& record : distinct_records(added)) {
        const std::int64_t in_window = intersect(record.time, window).seconds();
        if (in_window > 0) seconds[record.name.ns][shape_of(record)] += in_window;
    }
    Usage usage;
    for (const auto& [ns, sums] : seconds) {
        for (const auto& [shape, sum] : sums)
            usage[ns].push_back({shape, sum});
    }
    return usage;
}

// Of one namespace, in the window, each interval by itself.
inline std::vector<UsageRecord> plain_records(const std::vector<UsageRecord>& records,
                                              const std::string& ns, Window window) {
    std::vector<UsageRecord> found;
    for (UsageRecord record : distinct_records(records)) {
        record.time = intersect(record.time, window);
        if (record.name.ns == ns && record.time.seconds() > 0)
            std::ranges::move(split_into_intervals(record), std::back_inserter(found));
    }
    std::ranges::sort(found);
    return found;
}

// Fails the test unless the store's answers for the window are those of the records that were
// added.
inline bool has_exactly(LedgerStore& store, const std::vector<UsageRecord>& added, Window window) {
    const Usage expected = plain_usage(added, window);
    const auto usage = store.usage_by_namespace(window);
    EXPECT_TRUE(usage) << usage.error().text;
    bool same = usage && *usage == expected;
    EXPECT_TRUE(same) << "usage_by_namespace";
    for (const std::string ns : {"team", "other", "none"}) {
        const auto sums = store.usage(ns, window);
        const auto wanted = expected.find(ns);
        const bool same_sums =
            sums && *sums == (wanted == expected.end() ? std::vector<UsageSum>{} : wanted->second);
        EXPECT_TRUE(same_sums) << "usage of " << ns;
        const auto records = store.records(ns, window);
        EXPECT_TRUE(records) << records.error().text;
        const bool same_records =
            records && std::ranges::is_sorted(*records) &&
            plain_records(*records, ns, kAlways) == plain_records(added, ns, window);
        EXPECT_TRUE(same_records) << "records of " << ns;
        same = same && same_sums && same_records;
    }
    return same;
}

}  // namespace tessera

// Goal: each GPU's time is shared out among its own containers only; containers start, restart and
// end. Method: regions in a folder, a process's work written by hand into its accounts, and the
// resulting grants.
#include "adapters/guard/time_sharer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "adapters/os/system_clock.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/create.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/limits.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr char kFirst[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";
constexpr char kSecond[] = "GPU-11234567-89ab-cdef-0123-456789abcdef";
constexpr guard::Millionths kPercent = guard::kWhole / 100;

class TimeSharerTest : public testing::Test {
  protected:
    fs::path pods_ = fs::temp_directory_path() / ("time-sharer-" + std::to_string(getpid()));
    SystemClock clock_;
    TimeSharer sharer_{pods_, clock_};
    std::jthread thread_;

    void SetUp() override { fs::create_directories(pods_); }
    void TearDown() override {
        thread_ = {};
        fs::remove_all(pods_);
    }
    void start() {
        thread_ = std::jthread([this](const std::stop_token& stop) { sharer_.run(stop); });
    }
    [[nodiscard]] fs::path region(const std::string& name) const { return pods_ / name; }
    void add(const std::string& name, guard::Millionths cores, const char* gpu = kFirst,
             guard::Millionths cores_limit = guard::kWhole) {
        fs::create_directories(region(name));
        const guard::RegionGpu share = {gpu, std::uint64_t{1} << 30, 0, cores, cores_limit};
        ASSERT_EQ(guard::create_region(region(name).c_str(), &share, 1), 0);
        sharer_.look_again();
    }
    [[nodiscard]] const guard::GpuLimit& limit(const std::string& name) const {
        const auto* limits = guard::open_limits((region(name) / guard::kLimitsName).c_str());
        EXPECT_NE(limits, nullptr);
        return limits->gpus[0];
    }
    static bool soon(const std::function<bool()>& holds) {
        for (int tried = 0; tried < 1000; tried++) {
            if (holds()) return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }
    [[nodiscard]] std::int64_t granted_at(const std::string& name) const {
        return guard::read_grant(limit(name).grant).as_of_ns;
    }
    // Whether the sharer has written that container's grant since then: the region's initial value
    // is older.
    bool is_granted_since(const std::string& name, std::int64_t ns) {
        return soon([&] { return granted_at(name) > ns; });
    }
};

// Goal: a container that no program announces is found; other users' limits stay as they are, and
// their containers take part. Method: limits that belong to another user, which needs root.
TEST_F(TimeSharerTest, LimitsOfOtherUsers) {
    add("run-a/share", 30 * kPercent);
    add("run-b/share", 30 * kPercent);
    const std::string others = region("run-b/share") / guard::kLimitsName;
    const fs::path accounts = region("run-a/share") / guard::kAccountsName;
    const auto longer = fs::file_size(accounts) + 1;
    fs::resize_file(accounts, longer);
    if (geteuid() != 0 || chown(others.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
    const std::int64_t before = granted_at("run-b/share");
    TimeSharer own(pods_, clock_, {.changed = ChangedLimits::own, .watches_folder = true});
    thread_ = std::jthread([&](const std::stop_token& stop) { own.run(stop); });
    EXPECT_TRUE(is_granted_since("run-a/share", guard::monotonic_ns()));
    add("run-c/share", 0);
    EXPECT_TRUE(soon([&] { return limit("run-c/share").is_timed.load() == 1; }));
    EXPECT_EQ(granted_at("run-b/share"), before);
    EXPECT_EQ(fs::file_size(accounts), longer);
    thread_ = {};
}

TEST_F(TimeSharerTest, WhoHasPartOfAGpuMakesItsTimeShared) {
    add("pod-a/main", 0);
    start();
    add("pod-b/main", 0, kSecond);
    EXPECT_EQ(limit("pod-a/main").is_timed, 0U);
    add("pod-c/main", 30 * kPercent);
    EXPECT_TRUE(soon([&] { return limit("pod-a/main").is_timed == 1; }));
    EXPECT_TRUE(soon([&] {
        return guard::read_grant(limit("pod-c/main").grant).rate > 30 * kPercent;
    })) << "no other container wants it";
    EXPECT_EQ(limit("pod-b/main").is_timed, 0U) << "another GPU";
    fs::remove_all(region("pod-c"));
    sharer_.look_again();
    EXPECT_TRUE(soon([&] { return limit("pod-a/main").is_timed == 0; }));
}

TEST_F(TimeSharerTest, BeforeItComesAContainerHasWhatItIsSureOf) {
    add("pod-a/main", 30 * kPercent);
    EXPECT_EQ(limit("pod-a/main").is_timed, 1U);
    EXPECT_EQ(guard::read_grant(limit("pod-a/main").grant).rate, 30 * kPercent);
}

// A lone container that may have the whole GPU gets no debt.
TEST_F(TimeSharerTest, WhatIsUsedIsPaidFor) {
    add("pod-a/main", 40 * kPercent, kFirst, 40 * kPercent);
    const int fd = open((region("pod-a/main") / guard::kAccountsName).c_str(), O_RDWR | O_CLOEXEC);
    auto* accounts = static_cast<guard::Accounts*>(
        mmap(nullptr, sizeof(guard::Accounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    accounts->slots_end.store(1);
    start();
    ASSERT_TRUE(is_granted_since("pod-a/main", guard::monotonic_ns()));
    accounts->times[0][0].in_flight[0].total_ns.store(700'000'000);
    EXPECT_TRUE(soon([&] {
        return guard::read_grant(limit("pod-a/main").grant).of[0].balance_ns < -300'000'000;
    }));
    munmap(accounts, sizeof(guard::Accounts));
}

// Goal: a container that damages its accounts gets its guarantee, as if its time were not shared
// out.
TEST_F(TimeSharerTest, WhoDamagesHisAccountsHasNoPart) {
    add("pod-a/main", 40 * kPercent);
    add("pod-b/main", 40 * kPercent);
    start();
    ASSERT_TRUE(is_granted_since("pod-b/main", guard::monotonic_ns()));
    const int fd =
        open((region("pod-a/main") / guard::kAccountsName).c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(pwrite(fd, "overwritten", 11, 0), 11);
    close(fd);
    EXPECT_TRUE(soon([&] {
        const std::int64_t before = granted_at("pod-a/main");
        return is_granted_since("pod-b/main", guard::monotonic_ns() + 100'000'000) &&
               granted_at("pod-a/main") == before;
    })) << "neighbours are not affected";
}

TEST_F(TimeSharerTest, AContainerThatStartsAgainIsFoundAgain) {
    add("pod-a/main", 40 * kPercent);
    start();
    ASSERT_TRUE(is_granted_since("pod-a/main", guard::monotonic_ns()));
    add("pod-a/main", 20 * kPercent);
    EXPECT_TRUE(is_granted_since("pod-a/main", guard::monotonic_ns())) << "the new file is written";
}

TEST_F(TimeSharerTest, WhatATenantBreaksIsHisOwnLoss) {
    add("pod-a/main", 40 * kPercent);
    add("pod-b/main", 40 * kPercent);
    fs::resize_file(region("pod-a/main") / guard::kAccountsName, 7);
    fs::resize_file(region("pod-b/main") / guard::kAccountsName, 50'000'000);
    fs::create_directories(region("pod-c/half"));
    start();
    EXPECT_TRUE(soon([&] {
        return fs::file_size(region("pod-b/main") / guard::kAccountsName) ==
               sizeof(guard::Accounts);
    })) << "cut back";
    EXPECT_TRUE(
        soon([&] { return guard::read_grant(limit("pod-b/main").grant).rate > 40 * kPercent; }));
}

}  // namespace
}  // namespace tessera

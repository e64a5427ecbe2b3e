// Goal: a tenant cannot get rid of the guard. Method: /etc/ld.so.preload as the agent would mount
// it, in a mount namespace of the test's own; needs root.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::output_of;
using gpusim::SimulatedNode;

constexpr char kRefused[] = "OUT_OF_MEMORY";

class GuardEvasion : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2}}};
    std::filesystem::path scratch_ = container_.region().directory() / "scratch";

    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root, for a mount namespace";
        std::filesystem::create_directory(scratch_);
        std::ofstream(scratch_ / "namespace.sh")
            << "mount -t tmpfs none " << scratch_ << "/ram 2>/dev/null; set -e\n"
            << "mkdir " << scratch_ << "/ram/up " << scratch_ << "/ram/work\n"
            << "mount -t overlay -o lowerdir=/etc,upperdir=" << scratch_
            << "/ram/up,workdir=" << scratch_ << "/ram/work overlay /etc\n"
            << "echo " << container_.guard() << " > /etc/ld.so.preload\n"
            << "echo " << node_.library("libcuda.so.1").parent_path()
            << " > /etc/ld.so.conf.d/driver.conf\n"
            << "ldconfig\n"
            << "PATH=$PATH:" TESSERA_BINARY_DIR "/bin\n"
            << "eval \"$1\"\n";
        std::filesystem::create_directory(scratch_ / "ram");
    }
    // What a shell in the container prints.
    [[nodiscard]] std::string in_container(const std::string& command) const {
        return output_of("unshare --mount sh " + (scratch_ / "namespace.sh").string() + " '" +
                         command + "' 2>&1");
    }
};

// A way to start a program that takes 2 GiB; its container has 1 GiB.
struct Way {
    const char* name;
    const char* command;
};

constexpr Way kWays[] = {
    {"EmptyEnvironment", "env -i $(command -v gpuhog) --once 2GiB"},
    {"PreloadUnset", "unset LD_PRELOAD; gpuhog --once 2GiB"},
    {"PreloadEmpty", "LD_PRELOAD= gpuhog --once 2GiB"},
    {"PreloadOfItsOwn", "LD_PRELOAD=libm.so.6 gpuhog --once 2GiB"},
    {"Fork", "(gpuhog --once 2GiB) & wait"},
    {"Exec", "exec gpuhog --once 2GiB"},
    {"ShellInAShell", "sh -c \"bash -c \\\"gpuhog --once 2GiB\\\"\""},
    {"SessionOfItsOwn", "setsid -w gpuhog --once 2GiB"},
    {"AnotherUser", "P=$(command -v gpuhog); su nobody -s /bin/sh -c \"$P --once 2GiB\""},
    {"AnotherRoot", "P=$(command -v gpuhog); chroot / $P --once 2GiB"},
    {"LoaderByHand", "$(ls /lib*/ld-linux-*.so.* | head -1) $(command -v gpuhog) --once 2GiB"},
};

class GuardEvasionBy : public GuardEvasion, public testing::WithParamInterface<Way> {};

TEST_P(GuardEvasionBy, IsHeld) {
    const std::string said = in_container(GetParam().command);
    EXPECT_NE(said.find(kRefused), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Ways, GuardEvasionBy, testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_F(GuardEvasion, WithinTheShareAllIsWell) {
    const std::string within = in_container("env -i $(command -v gpuhog) --once 512MiB");
    EXPECT_NE(within.find("free 536870912 of 1073741824 bytes"), std::string::npos) << within;
}

// A program whose clock is an hour ahead does not get launch permits an hour early.
TEST_F(GuardEvasion, AClockOfItsOwn) {
    container_.grant_plenty();
    const std::string said = in_container(
        "LD_PRELOAD=" TESSERA_BINARY_DIR "/guard/takers/guard_own_clock.so timeout 1 gpuspin 1000");
    const ProcessTime& time = container_.region().accounts().times[0][0];
    EXPECT_GT(time.seen_ns.load(), 0) << said;
    EXPECT_LE(time.seen_ns.load(), monotonic_ns()) << said;
    const std::int64_t since = time.in_flight[0].since_ns.load();
    const std::int64_t total = time.in_flight[0].total_ns.load();
    EXPECT_GT(since + total, 0) << said;
    EXPECT_LE(since, monotonic_ns()) << said;
    EXPECT_LE(total, 2'000'000'000) << said;
}

TEST_F(GuardEvasion, TheDriversFileByItsPathOrACopy) {
    const std::string path = node_.library("libcuda.so.1").string();
    const std::string nvml = node_.library("libnvidia-ml.so.1").string();
    const std::string copy = scratch_.string() + "/copy.so";
    for (const std::string& file : {path, copy}) {
        const std::string said =
            in_container(fmt::format("cp {} {}; guard_lookups {} {}", path, copy, file, nvml));
        EXPECT_NE(said.find("cuMemAlloc_v2 dlopen-by-path libtessera-guard.so"), std::string::npos)
            << said;
    }
}

TEST_F(GuardEvasion, LibcsOwnLookup) {
    const std::string said =
        in_container(fmt::format("guard_lookups {} {}", node_.library("libcuda.so.1").string(),
                                 node_.library("libnvidia-ml.so.1").string()));
    EXPECT_NE(said.find("cuMemAlloc_v2 dlsym-of-libc libtessera-guard.so"), std::string::npos)
        << said;
    for (const char* symbol : {"dlsym", "dlvsym"}) {
        for (const char* way : {"handle", "next", "dlvsym", "dlvsym-next"}) {
            const std::string line = fmt::format("{} {} libtessera-guard.so\n", symbol, way);
            EXPECT_NE(said.find(line), std::string::npos) << symbol << " by " << way << "\n"
                                                          << said;
        }
    }
}

// A library between the guard and libc looks up the next dlsym after itself. It must not get itself
// again through the guard.
TEST_F(GuardEvasion, AnotherLookupBehindTheGuardIsLeftAlone) {
    const std::string said = in_container(
        "echo " TESSERA_BINARY_DIR "/guard/takers/guard_own_dlsym.so >> /etc/ld.so.preload; " +
        fmt::format("guard_lookups {} {}", node_.library("libcuda.so.1").string(),
                    node_.library("libnvidia-ml.so.1").string()));
    EXPECT_NE(said.find("cuMemAlloc_v2 dlopen-by-path libtessera-guard.so"), std::string::npos)
        << said;
    EXPECT_NE(said.find("dlsym handle libc.so.6\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace tessera::guard

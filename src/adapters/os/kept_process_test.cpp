#include "adapters/os/kept_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Runs keep_process() in a process of its own. Its children add a line to a file as they start.
class KeepProcessTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tessera-kept.XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    pid_t keep(const std::function<int()>& body) const {
        const fs::path starts = folder_ / "starts";
        const pid_t parent = ::fork();
        if (parent != 0) return parent;
        const auto counted = [&] {
            std::ofstream(starts, std::ios::app) << ::getpid() << "\n" << std::flush;
            return body();
        };
        ::_exit(keep_process(counted, {0, 3}));
    }
    // The pid of the n-th child, once it has started.
    pid_t child(int n) const {
        while (true) {
            std::ifstream in(folder_ / "starts");
            pid_t pid = 0;
            int found = 0;
            while (found < n && in >> pid)
                found++;
            if (found == n) return pid;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    static int status_of(pid_t parent) {
        int status = 0;
        ::waitpid(parent, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    static int sleep_on() {
        while (true)
            ::pause();
    }

    fs::path folder_;
};

TEST_F(KeepProcessTest, ReturnsAFinalStatus) {
    EXPECT_EQ(status_of(keep([] { return 3; })), 3);
    EXPECT_EQ(status_of(keep([] { return 0; })), 0);
}

TEST_F(KeepProcessTest, StartsAgainAfterAKillAndAFailure) {
    const fs::path marker = folder_ / "marker";
    const pid_t parent = keep([&] {
        if (fs::exists(marker)) return 3;
        (void)write_text_file(marker.string(), "");
        return sleep_on();
    });
    ASSERT_EQ(::kill(child(1), SIGKILL), 0);
    EXPECT_EQ(status_of(parent), 3);
    EXPECT_NE(child(1), child(2));
    fs::remove(folder_ / "starts");
    const pid_t other = keep([] { return 1; });
    child(2);
    ASSERT_EQ(::kill(other, SIGTERM), 0);
    const int status = status_of(other);
    EXPECT_TRUE(status == 1 || status == 128 + SIGTERM) << status;
}

// Goal: the signal that ends a service reaches the child, and no other child starts.
TEST_F(KeepProcessTest, PassesSignalsOn) {
    const pid_t parent = keep([] {
        std::signal(SIGTERM, [](int) { ::_exit(9); });
        return sleep_on();
    });
    child(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(::kill(parent, SIGTERM), 0);
    const int status = status_of(parent);
    EXPECT_TRUE(status == 9 || status == 128 + SIGTERM) << status;
    std::ifstream in(folder_ / "starts");
    int starts = 0;
    for (std::string line; std::getline(in, line);)
        starts++;
    EXPECT_EQ(starts, 1);
}

// Goal: what a killed child has started lives on, with the parent as its parent.
TEST_F(KeepProcessTest, AdoptsWhatTheChildLeaves) {
    const fs::path grandchild = folder_ / "grandchild";
    const pid_t parent = keep([&] {
        if (fs::exists(grandchild)) return sleep_on();
        const pid_t made = ::fork();
        if (made == 0) return sleep_on();
        (void)write_text_file(grandchild.string(), std::to_string(made));
        return sleep_on();
    });
    while (!fs::exists(grandchild))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    pid_t pid = 0;
    std::ifstream(grandchild) >> pid;
    ASSERT_EQ(::kill(child(1), SIGKILL), 0);
    child(2);
    EXPECT_EQ(::kill(pid, 0), 0);
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    std::string its_parent;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("PPid:")) its_parent = line.substr(6);
    }
    EXPECT_EQ(its_parent, std::to_string(parent));
    ::kill(pid, SIGKILL);
    ::kill(parent, SIGTERM);
    EXPECT_EQ(status_of(parent), 128 + SIGTERM);
}

}  // namespace
}  // namespace tessera

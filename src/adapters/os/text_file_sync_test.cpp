// A loss of power cannot be tested here. The test checks that the program calls fsync() in the
// right order: it defines its own fsync(), which records each call and forwards it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "adapters/os/text_file.hpp"

namespace {

struct Synced {
    bool is_folder;         // the named file's own
    std::string text_then;  // the contents of the named file at that time

    friend bool operator==(const Synced&, const Synced&) = default;
};

thread_local std::string watched;
thread_local std::vector<Synced> noted;
thread_local bool fails = false;

}  // namespace

extern "C" int fsync(int fd) {
    if (!watched.empty()) {
        struct stat what = {};
        ::fstat(fd, &what);
        struct stat folder = {};
        ::stat(std::filesystem::path(watched).parent_path().c_str(), &folder);
        const bool is_folder = what.st_dev == folder.st_dev && what.st_ino == folder.st_ino;
        noted.push_back({is_folder, tessera::read_text_file(watched).value_or("none")});
        if (fails) {
            errno = EIO;
            return -1;
        }
    }
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace tessera {
namespace {

class SyncedTextFile : public ::testing::Test {
  protected:
    SyncedTextFile() {
        std::filesystem::create_directories(folder_);
        watched = path_;
        noted.clear();
        fails = false;
    }
    ~SyncedTextFile() override {
        watched.clear();
        fails = false;
        std::filesystem::remove_all(folder_);
    }

    const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                          ("tessera-sync-" + std::to_string(::getpid()));
    const std::string path_ = (folder_ / "allocation.json").string();
};

// Goal: the text is on the disk before it has its name, and the name is before success is reported.
TEST_F(SyncedTextFile, TheTextThenItsName) {
    ASSERT_TRUE(write_text_file(path_, "old"));
    EXPECT_EQ(noted, (std::vector<Synced>{{false, "none"}, {true, "old"}}));
    noted.clear();
    ASSERT_TRUE(write_text_file(path_, "new"));
    EXPECT_EQ(noted, (std::vector<Synced>{{false, "old"}, {true, "new"}}));
}

// Goal: text that the disk did not accept replaces nothing, and leaves nothing behind.
TEST_F(SyncedTextFile, ADiskThatDoesNotTakeIt) {
    ASSERT_TRUE(write_text_file(path_, "old"));
    fails = true;
    const auto written = write_text_file(path_, "new");
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().text.find("Input/output error"), std::string::npos);
    EXPECT_EQ(read_text_file(path_), "old");
    EXPECT_EQ(files_in(folder_.string()), std::vector<std::string>{"allocation.json"});
}

}  // namespace
}  // namespace tessera

// Goal: a regular file is read unchanged; a link, a device, a pipe and an endless file are refused.
#include "adapters/os/plain_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class PlainFile : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_ / "a");
        std::ofstream(folder_ / "a" / "list") << "/apm/lib.so\n";
    }
    void TearDown() override { fs::remove_all(folder_); }
    Code code(const fs::path& path, std::size_t most = 100) {
        const auto text = read_plain_file(path, most);
        return text ? Code::internal : text.error().code;
    }

    const fs::path folder_ =
        fs::canonical(fs::temp_directory_path()) / ("plain-file-" + std::to_string(getpid()));
};

TEST_F(PlainFile, Reads) {
    EXPECT_EQ(read_plain_file(folder_ / "a" / "list", 12).value(), "/apm/lib.so\n");
    EXPECT_EQ(read_plain_file((folder_ / "a").string() + "//list", 12).value(), "/apm/lib.so\n");
}

TEST_F(PlainFile, RefusesAnythingElse) {
    fs::create_symlink(folder_ / "a" / "list", folder_ / "link");
    fs::create_directory_symlink(folder_ / "a", folder_ / "b");
    ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(code(folder_ / "link"), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "b" / "list"), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "a" / "list" / "x"), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "pipe"), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "a"), Code::invalid_argument);
    EXPECT_EQ(code("/dev/zero"), Code::invalid_argument);
    EXPECT_EQ(code("a/list"), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "a" / "list", 11), Code::invalid_argument);
    EXPECT_EQ(code(folder_ / "gone"), Code::not_found);
    EXPECT_EQ(code(folder_ / "gone" / "list"), Code::not_found);
}

}  // namespace
}  // namespace tessera

// Goal: the newest allocation of a resized pod survives the agent, and an unreadable one is an
// error.
#include "adapters/guard/resized_allocations.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "adapters/os/text_file.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ResizedAllocationsTest : public testing::Test {
  protected:
    fs::path pods_ = fs::temp_directory_path() / ("resized-" + std::to_string(getpid()));
    ResizedAllocationFiles resized_{pods_};

    void SetUp() override { fs::create_directories(pods_); }
    void TearDown() override { fs::remove_all(pods_); }
};

TEST_F(ResizedAllocationsTest, OutliveTheAgent) {
    EXPECT_FALSE(resized_.kept(PodUid("uid-p")).value());
    const PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    Allocation allocation =
        build::allocation(pod, "n",
                          {{.uuid = GpuUuid("GPU-01234567-89ab-cdef-0123-456789abcdef"),
                            .memory = gibibytes(4),
                            .cores_limit = {50}}});
    allocation.revision = 1;
    ASSERT_TRUE(resized_.keep(allocation));
    allocation.revision = 2;
    ASSERT_TRUE(resized_.keep(allocation));
    EXPECT_EQ(ResizedAllocationFiles(pods_).kept(pod.uid).value(), allocation);
    ASSERT_TRUE(write_text_file(pods_ / "uid-p" / "allocation.json", "nonsense"));
    const auto spoiled = resized_.kept(pod.uid);
    ASSERT_FALSE(spoiled);
    EXPECT_EQ(spoiled.error().code, Code::corrupt);
    EXPECT_NE(spoiled.error().text.find("uid-p/allocation.json"), std::string::npos);
    fs::remove_all(pods_);
    EXPECT_FALSE(resized_.keep(allocation)) << "no folder";
}

}  // namespace
}  // namespace tessera

// Goal: limits change for processes that have mapped them. Method: a region as for a new container,
// and a mapping of its limits as in a process.
#include "adapters/guard/region_limits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "guard/region/create.hpp"
#include "guard/region/limits.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kFirst[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";
constexpr char kSecond[] = "GPU-11234567-89ab-cdef-0123-456789abcdef";
constexpr guard::Millionths kOnePercent = guard::kWhole / 100;

class RegionLimitsTest : public testing::Test {
  protected:
    fs::path pods_ = fs::temp_directory_path() / ("region-limits-" + std::to_string(getpid()));
    int changes_ = 0;
    RegionLimits limits_{pods_, [this] { ++changes_; }};

    void SetUp() override { fs::create_directories(pods_); }
    void TearDown() override { fs::remove_all(pods_); }

    const guard::Limits& start() {
        const fs::path region = pods_ / "uid-p" / "main";
        fs::create_directories(region);
        const guard::RegionGpu shares[] = {
            {kFirst, std::uint64_t{4} << 30, 0, 30 * kOnePercent, guard::kWhole},
            {kSecond, std::uint64_t{2} << 30, 0, 0, guard::kWhole}};
        EXPECT_EQ(guard::create_region(region.c_str(), shares, 2), 0);
        const guard::Limits* mapped = guard::open_limits((region / guard::kLimitsName).c_str());
        EXPECT_NE(mapped, nullptr);
        return *mapped;
    }
    Result<bool> change(const char* gpu, Bytes memory, int cores = 0, int cores_limit = 100) {
        return limits_.change(PodUid("uid-p"), "main",
                              {{GpuUuid(gpu), memory, {cores}, {cores_limit}}});
    }
};

TEST_F(RegionLimitsTest, ChangeWhatIsMapped) {
    const guard::Limits& limits = start();
    EXPECT_TRUE(change(kFirst, gibibytes(6), 40, 80).value());
    EXPECT_EQ(limits.gpus[0].memory, 6U * 512);
    EXPECT_EQ(limits.gpus[0].cores, 40 * kOnePercent);
    EXPECT_EQ(limits.gpus[0].cores_limit, 80 * kOnePercent);
    EXPECT_EQ(limits.gpus[1].memory, 2U * 512) << "another GPU's";
    EXPECT_EQ(changes_, 1);
    EXPECT_FALSE(change(kFirst, gibibytes(6), 40, 80).value()) << "it has them already";
    EXPECT_EQ(changes_, 1);
    EXPECT_TRUE(change(kFirst, gibibytes(1) + Bytes{1}, 10, 10).value());
    EXPECT_EQ(limits.gpus[0].memory, 512U) << "a part of an allocation unit does not count";
    EXPECT_EQ(limits.gpus[0].cores_limit, 10 * kOnePercent);
    EXPECT_TRUE(change(kFirst, gibibytes(1), 90, 100).value());
    EXPECT_EQ(limits.gpus[0].cores, 90 * kOnePercent);
}

TEST_F(RegionLimitsTest, WhereNothingIsHeldNothingChanges) {
    EXPECT_FALSE(change(kFirst, gibibytes(6)).value());
    start();
    EXPECT_FALSE(change("GPU-21234567-89ab-cdef-0123-456789abcdef", gibibytes(6)).value());
    EXPECT_FALSE(change("index:0", gibibytes(6)).value());
    EXPECT_EQ(changes_, 0);
    std::ofstream(pods_ / "uid-p" / "main" / guard::kLimitsName, std::ios::trunc) << "nonsense";
    EXPECT_EQ(change(kFirst, gibibytes(6)).error().code, Code::corrupt);
}

}  // namespace
}  // namespace tessera

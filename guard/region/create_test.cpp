// Goal: a region is created completely or not at all, and can be changed live. Nothing else is
// accepted as a region.
#include "guard/region/create.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "guard/region/limits.hpp"
#include "guard/test_support/test_region.hpp"

namespace tessera::guard {
namespace {

constexpr RegionGpu kFirst{"GPU-01234567-89ab-cdef-0123-456789abcdef", 5 * kAllocationUnitBytes + 1,
                           1};
constexpr RegionGpu kSecond{"GPU-00000000-0000-0000-0000-0000000000ff", 7 * kAllocationUnitBytes,
                            0};

TEST(Region, SaysWhatTheAgentWrote) {
    const TestRegion region({kFirst, kSecond});
    const Limits* limits = open_limits(region.path(kLimitsName).c_str());
    ASSERT_NE(limits, nullptr);
    EXPECT_EQ(limits->gpu_count, 2U);
    EXPECT_EQ(limits->gpus[0].memory, 5U) << "rounded down to whole allocation units";
    EXPECT_EQ(limits->gpus[0].context_cost, 1U);
    const std::uint8_t first[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    std::uint8_t second[16] = {};
    second[15] = 0xff;
    EXPECT_EQ(find_gpu(*limits, first), 0);
    EXPECT_EQ(find_gpu(*limits, second), 1);
    second[15] = 0xfe;
    EXPECT_EQ(find_gpu(*limits, second), -1);
}

TEST(Region, IsChangedLive) {
    const TestRegion region({kFirst});
    const Limits* seen = open_limits(region.path(kLimitsName).c_str());
    change_limits(region.path(kLimitsName).c_str())->gpus[0].memory = 3;
    EXPECT_EQ(seen->gpus[0].memory, 3U);
}

TEST(Region, AccountsThatAreThereStay) {
    const TestRegion region({kFirst});
    region.accounts().next_slot = 7;
    EXPECT_EQ(create_region(region.directory().c_str(), &kSecond, 1), 0);
    EXPECT_EQ(region.accounts().next_slot, 7U);
    EXPECT_EQ(open_limits(region.path(kLimitsName).c_str())->gpus[0].memory, 7U)
        << "the limits are those of the container that is about to start";
}

TEST(Region, WhatIsBrokenIsMadeAnew) {
    const TestRegion region({kFirst});
    for (const char* text : {"", "TSA3 of another size"}) {
        std::filesystem::remove(region.path(kAccountsName));
        std::ofstream(region.path(kAccountsName)) << text;
        EXPECT_EQ(create_region(region.directory().c_str(), &kFirst, 1), 0);
        EXPECT_EQ(std::filesystem::file_size(region.path(kAccountsName)), sizeof(Accounts));
    }
}

TEST(Region, MayBeWrittenByAnyUserOfTheContainerAndLimitsByNone) {
    const TestRegion region({kFirst});
    struct stat about = {};
    ASSERT_EQ(stat(region.path(kAccountsName).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0666U);
    ASSERT_EQ(stat(region.path(kLimitsName).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0644U);
}

TEST(Region, WhatIsNoRegion) {
    const TestRegion region({kFirst});
    EXPECT_EQ(open_limits(region.path("nowhere").c_str()), nullptr);
    EXPECT_EQ(open_limits(region.path(kAccountsName).c_str()), nullptr);
    change_limits(region.path(kLimitsName).c_str())->gpu_count = kMaxGpus + 1;
    EXPECT_EQ(open_limits(region.path(kLimitsName).c_str()), nullptr);
    std::ofstream(region.path("short")) << "TSL3";
    EXPECT_EQ(open_limits(region.path("short").c_str()), nullptr);
    EXPECT_EQ(create_region("/nonexistent", &kFirst, 1), ENOENT);
    EXPECT_EQ(create_region(region.directory().c_str(), &kFirst, kMaxGpus + 1), EINVAL);
    for (const char* text :
         {"", "GPU-", "01234567-89ab-cdef-0123-456789abcdef",
          "GPU-01234567-89ab-cdef-0123-456789abcde", "GPU-01234567-89ab-cdef-0123-456789abcdef0",
          "GPU-0123456789ab-cdef-0123-456789abcdef", "GPU-0123456789abcdefg"}) {
        const RegionGpu unnamed{text, kAllocationUnitBytes, 0};
        const TestRegion other({kFirst});
        std::filesystem::remove(other.path(kLimitsName));
        EXPECT_EQ(create_region(other.directory().c_str(), &unnamed, 1), EINVAL) << text;
    }
}

}  // namespace
}  // namespace tessera::guard

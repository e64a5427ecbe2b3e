// Goal: the arithmetic of a client's limits is what was seen on GPUs, and no text breaks it.
// Sources: docs/research/mps-580.md (132 multiprocessors), NVIDIA's examples (188).
#include "gpusim/mps/limits.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace gpusim::mps {
namespace {

TEST(MpsLimits, MultiprocessorsComeInPairs) {
    const struct {
        double percentage;
        unsigned all;
        unsigned expected;
    } rows[] = {{50, 188, 94},  {25, 188, 46},   {75, 188, 140}, {10, 132, 12},
                {90, 132, 118}, {55, 40, 22},    {1, 40, 2},     {0.04, 132, 2},
                {100, 35, 35},  {100, 132, 132}, {50, 1, 1}};
    for (const auto& row : rows) {
        EXPECT_EQ(multiprocessors_of(row.all, row.percentage), row.expected)
            << row.percentage << " % of " << row.all;
    }
}

TEST(MpsLimits, TheLowerPercentageCounts) {
    const struct {
        const char* text;
        double expected;
    } rows[] = {{nullptr, 50}, {"25", 25}, {"75", 50}, {"12.5", 12.5},
                {"0", 50},     {"", 50},   {"x", 50},  {"-1", 50}};
    for (const auto& row : rows) {
        EXPECT_EQ(lower_percentage(50, row.text), row.expected)
            << (row.text != nullptr ? row.text : "unset");
    }
}

std::string read(const char* text) {
    std::string all;
    PinnedLimit limit;
    while (next_pinned_limit(text, limit)) {
        all += std::string(limit.device, limit.length) + "(" + std::to_string(ordinal_of(limit)) +
               "):" + std::to_string(limit.bytes >> 20) + " ";
    }
    return all;
}

TEST(MpsLimits, ReadsPinnedLimits) {
    EXPECT_EQ(read(nullptr), "");
    EXPECT_EQ(read(""), "");
    EXPECT_EQ(read("0=1G"), "0(0):1024 ");
    EXPECT_EQ(read("0=1G, 12=512MB,GPU-0a=3GB"), "0(0):1024 12(12):512 GPU-0a(-1):3072 ");
    EXPECT_EQ(read("x,=,5,99999=1G"), "x(-1):0 (-1):0 5(5):0 99999(-1):1024 ");
}

TEST(MpsLimits, AnyTextIsRead) {
    std::mt19937 random(1);
    const char characters[] = "0189=,GM -x";
    for (int round = 0; round < 2000; round++) {
        std::string text;
        for (std::size_t left = random() % 24; left > 0; left--)
            text += characters[random() % (sizeof characters - 1)];
        EXPECT_LE(read(text.c_str()).size(), 60 * (text.size() + 1));
    }
}

}  // namespace
}  // namespace gpusim::mps

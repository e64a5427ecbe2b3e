#include "domain/mps/mps_verdict.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

MpsGrant grant(int threads) {
    return {.pod = PodUid("p"), .container = "main", .threads = {threads}, .memory = gibibytes(3)};
}

MpsProbe probe(int used) {
    return {.device_multiprocessors = used,
            .used_multiprocessors = used,
            .blocks_per_s = 32'000,
            .total = gibibytes(3),
            .free = gibibytes(2),
            .is_limited = true};
}

TEST(MpsVerdict, WhatWasGrantedIsThere) {
    const auto findings = verify_mps(grant(25), 132, probe(32));
    EXPECT_TRUE(is_well(findings));
    EXPECT_EQ(findings[0], (MpsFinding{"multiprocessors", "25 % of 132", "32", true}));
    EXPECT_EQ(findings[1], (MpsFinding{"memory shown", "3Gi", "3Gi", true}));
    EXPECT_EQ(findings[2], (MpsFinding{"memory limit", "3Gi", "more is refused", true}));
}

// Goal: three percent of the GPU, and at least two multiprocessors, on both sides.
TEST(MpsVerdict, ComputeThatDiffers) {
    struct Row {
        int threads, all, used;
        bool is_ok;
    };
    for (const Row& row : {Row{25, 132, 36, true},
                           {25, 132, 37, false},
                           {25, 132, 30, true},
                           {25, 132, 29, false},
                           {25, 132, 132, false},
                           {10, 40, 4, true},
                           {10, 40, 6, true},
                           {10, 40, 8, false},
                           {100, 40, 40, true},
                           {25, 0, 32, false}}) {
        EXPECT_EQ(verify_mps(grant(row.threads), row.all, probe(row.used))[0].is_ok, row.is_ok)
            << row.threads << " " << row.all << " " << row.used;
    }
}

TEST(MpsVerdict, MemoryThatDiffers) {
    MpsProbe whole = probe(32);
    whole.total = gibibytes(80);
    EXPECT_FALSE(verify_mps(grant(25), 132, whole)[1].is_ok);
    MpsProbe unlimited = probe(32);
    unlimited.is_limited = false;
    EXPECT_EQ(verify_mps(grant(25), 132, unlimited)[2].found, "more was given");
    EXPECT_FALSE(is_well(verify_mps(grant(25), 132, unlimited)));
}

// Goal: what other programs of the container use counts as had.
TEST(MpsVerdict, FilledMemory) {
    MpsProbe filled = probe(32);
    filled.filled = gibibytes(2);
    const auto findings = verify_mps(grant(25), 132, filled);
    ASSERT_EQ(findings.size(), 4U);
    EXPECT_EQ(findings[3].found, "2Gi and 1Gi of other programs and contexts");
    EXPECT_TRUE(findings[3].is_ok);
    filled.filled = gibibytes(1);
    EXPECT_FALSE(verify_mps(grant(25), 132, filled)[3].is_ok) << "too little";
    filled.filled = gibibytes(3);
    EXPECT_FALSE(verify_mps(grant(25), 132, filled)[3].is_ok) << "too much";
}

TEST(MpsVerdict, Sweep) {
    const auto values = [](int threads) {
        std::vector<int> out;
        for (const Percent percent : sweep_of(grant(threads)))
            out.push_back(percent.value);
        return out;
    };
    EXPECT_EQ(values(100), (std::vector{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
    EXPECT_EQ(values(3), (std::vector{1, 2, 3}));
}

}  // namespace
}  // namespace tessera

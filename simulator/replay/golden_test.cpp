#include "simulator/replay/golden.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the artefact's placements are read in its format, and an error names the place.
TEST(GoldenPlacements, AreRead) {
    const auto rows =
        read_placements("arrival,pod_row,node_row,gpus\n0,255,1080,\n1,1685,292,0-3\n2,7,-1,\n");
    ASSERT_TRUE(rows) << rows.error().text;
    EXPECT_EQ(*rows, (std::vector<GoldenPlaced>{{255, 1080, 0}, {1685, 292, 0b1001}, {7, -1, 0}}));
    const auto wrong = read_placements("arrival,pod_row,node_row,gpus\n0,255,1080,0-16\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().text, "line 2, column gpus: \"16\" is not a GPU");
}

// Goal: each pod that went elsewhere counts, also if only its GPU differs, and so does each missing
// pod.
TEST(GoldenPlacements, CountWhatWentElsewhere) {
    Workload workload;
    workload.node_rows = {40, 50};
    workload.pod_rows = {7, 8, 9};
    const std::vector<Placed> placed = {{0, 1}, {1, 2}, {-1, 0}};
    const std::vector<GoldenPlaced> same = {{7, 40, 1}, {8, 50, 2}, {9, -1, 0}};
    EXPECT_EQ(placed_elsewhere(same, workload, placed), 0U);
    const std::vector<GoldenPlaced> other = {{7, 50, 1}, {8, 50, 1}, {9, -1, 0}, {9, -1, 0}};
    EXPECT_EQ(placed_elsewhere(other, workload, placed), 3U);
}

// Goal: the artefact's names become ours, and a value that is not a number is named.
TEST(Golden, IsRead) {
    std::string head = "trace,policy,seed";
    std::string row = "default,GpuPacking,42";
    for (const char* name : {"alloc", "frag", "ratio"}) {
        for (const int percent : kGoldenPercents) {
            head += "," + std::string(name) + "_" + std::to_string(percent);
            row += "," + std::to_string(percent) + ".5";
        }
    }
    const auto rows = read_golden(head + "\n" + row + "\n");
    ASSERT_TRUE(rows) << rows.error().text;
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_EQ(rows->front().policy, "packing");
    EXPECT_EQ(rows->front().points[5].ratio, 100.5);
    const auto wrong = read_golden(head + "\n" + row + "x\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().text, "line 2, column ratio_130: \"130.5x\" is not a number");
    const auto unknown = read_golden(head + "\n" + "default,GpuMagic" + row.substr(18) + "\n");
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().text.find("line 2, column policy: no placement policy \"Magic\""),
              std::string::npos)
        << unknown.error().text;
}

}  // namespace
}  // namespace tessera

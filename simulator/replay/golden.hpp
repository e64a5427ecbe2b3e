// The published results of FGD's experiment, at nine points of each curve
// (testing/fixtures/openb/golden.csv), to compare a replay with.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {

inline constexpr std::array<int, 9> kGoldenPercents = {10, 50, 80, 90, 95, 100, 110, 120, 130};

// A point at which curves are compared: allocation, fragmentation and ratio at one percentage.
struct GoldenPoint {
    double allocation = 0;
    double fragmentation = 0;
    double ratio = 0;
};

struct GoldenRow {
    std::string trace;
    std::string policy;  // its name in placement_policies()
    int seed = 0;
    std::array<GoldenPoint, kGoldenPercents.size()> points;
};

// invalid_argument, naming line and column.
Result<std::vector<GoldenRow>> read_golden(std::string_view text);

// Where the artefact put each pod of a run: arrival, pod_row, node_row (-1: nowhere) and its GPUs,
// "0-1"; the rows of placements/TRACE.seedSEED.POLICY.csv.
struct GoldenPlaced {
    std::uint32_t pod_row = 0;
    std::int32_t node_row = -1;
    GpuSet gpus = 0;

    friend bool operator==(const GoldenPlaced&, const GoldenPlaced&) = default;
};

// invalid_argument, naming line and column.
Result<std::vector<GoldenPlaced>> read_placements(std::string_view text);
// How many of a replay's pods went elsewhere; all that one of the two does not have count too.
std::size_t placed_elsewhere(std::span<const GoldenPlaced> golden, const Workload& workload,
                             std::span<const Placed> placed);

// The largest difference of any figure at any point.
double furthest(const GoldenRow& golden, const Curve& curve);

}  // namespace tessera

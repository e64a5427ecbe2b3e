#include "domain/autoscaling/pod_gpu_use.hpp"

#include <gtest/gtest.h>

#include "domain/autoscaling/pod_metric.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Row {
    const char* what;
    std::vector<ShareUse> before;
    std::vector<ShareUse> now;
    std::int64_t ns;
    PodGpuUse use;
};

ShareUse share(int cores, int limit, std::int64_t kernels_ms, std::int64_t copies_ms = 0) {
    return {.pod = PodUid("p"),
            .name = {},
            .container = "main",
            .gpu = GpuUuid("GPU-a"),
            .used = {kMiB * 256},
            .limit = {kMiB * 1024},
            .cores = {cores},
            .cores_limit = {limit},
            .is_timed = true,
            .in_flight = {},
            .had = {kernels_ms * 1'000'000, copies_ms * 1'000'000},
            .processes = {}};
}
ShareUse on(const char* gpu, ShareUse use) {
    use.gpu = GpuUuid(gpu);
    return use;
}
ShareUse untimed(ShareUse use) {
    use.is_timed = false;
    return use;
}
ShareUse damaged(ShareUse use) {
    use.is_damaged = true;
    return use;
}

// Goal: the use of a pod in percent of what it was given, or nothing where it was not measured.
TEST(PodGpuUse, IsAPartOfTheGrant) {
    const std::optional<std::int64_t> memory = 25'000;
    const std::vector<Row> rows = {
        {"of the guarantee",
         {share(50, 100, 0)},
         {share(50, 100, 5'000)},
         20 * kSecond,
         {50'000, memory}},
        {"beyond it",
         {share(25, 100, 0)},
         {share(25, 100, 10'000)},
         20 * kSecond,
         {200'000, memory}},
        {"of the limit", {share(0, 40, 0)}, {share(0, 40, 1'000)}, 10 * kSecond, {25'000, memory}},
        {"of the GPU", {share(0, 100, 0)}, {share(0, 100, 1'000)}, 10 * kSecond, {10'000, memory}},
        {"copies",
         {share(50, 100, 7, 0)},
         {share(50, 100, 8, 5'000)},
         10 * kSecond,
         {100'000, memory}},
        {"idle", {share(50, 100, 9)}, {share(50, 100, 9)}, 10 * kSecond, {0, memory}},
        {"the first report", {}, {share(50, 100, 9)}, 10 * kSecond, {{}, memory}},
        {"the same moment", {share(50, 100, 9)}, {share(50, 100, 9)}, 0, {{}, memory}},
        {"the agent restarted",
         {share(50, 100, 9)},
         {share(50, 100, 8)},
         10 * kSecond,
         {{}, memory}},
        {"not measured",
         {share(50, 100, 0)},
         {untimed(share(50, 100, 0))},
         10 * kSecond,
         {{}, memory}},
        {"damaged accounts",
         {share(50, 100, 0)},
         {damaged(share(50, 100, 5'000))},
         10 * kSecond,
         {100'000, {}}},
        {"two GPUs",
         {share(50, 100, 0), on("GPU-b", share(50, 100, 0))},
         {share(50, 100, 5'000), on("GPU-b", share(50, 100, 0))},
         10 * kSecond,
         {50'000, memory}},
        {"a GPU that is new",
         {share(50, 100, 0)},
         {share(50, 100, 5'000), on("GPU-b", share(50, 100, 0))},
         10 * kSecond,
         {{}, memory}},
    };
    for (const Row& row : rows) {
        const auto uses = pod_gpu_uses(row.before, row.now, row.ns);
        ASSERT_EQ(uses.size(), 1U) << row.what;
        EXPECT_EQ(uses.at(PodUid("p")).compute, row.use.compute) << row.what;
        EXPECT_EQ(uses.at(PodUid("p")).memory, row.use.memory) << row.what;
    }
}

// Goal: pods do not count for each other, and large numbers do not overflow.
TEST(PodGpuUse, IsOfEachPod) {
    ShareUse other = share(100, 100, 0);
    other.pod = PodUid("q");
    ShareUse busy = other;
    busy.had.kernels_ns = 3'600 * kSecond * 24 * 365;
    const auto uses =
        pod_gpu_uses(std::vector{share(50, 100, 0), other}, std::vector{share(50, 100, 0), busy},
                     3'600 * kSecond * 24 * 365);
    EXPECT_EQ(uses.at(PodUid("p")).compute, 0);
    EXPECT_EQ(uses.at(PodUid("q")).compute, 100'000);
}

// Goal: each metric is found by its name, and no other name is one.
TEST(PodMetric, Names) {
    for (const PodMetricRow& row : kPodMetrics) {
        EXPECT_EQ(find_pod_metric(row.name), row.metric);
        EXPECT_EQ(row_of(row.metric).name, row.name);
    }
    for (const char* name : {"", "tessera", "tessera_gpu_compute_use2", "Tessera_gpu_compute_use"})
        EXPECT_FALSE(find_pod_metric(name)) << name;
}

}  // namespace
}  // namespace tessera

#include "domain/run/run_choice.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

RunGpu gpu(int index, Bytes memory, Bytes outside = {}) {
    return {.uuid = GpuUuid("GPU-" + std::to_string(index)),
            .index = index,
            .model = "Tesla T4",
            .memory = memory,
            .used_outside = outside,
            .unusable = {}};
}

LiveRun run_on(int index, Bytes memory, int cores = 0) {
    LiveRun run;
    run.lease.gpu = GpuUuid("GPU-" + std::to_string(index));
    run.lease.memory = memory;
    run.lease.cores = {cores};
    return run;
}

RunRequest request(Bytes memory, int cores = 0, std::string selector = {}) {
    return {.memory = memory, .cores = {cores}, .gpu = std::move(selector)};
}

// Goal: best fit by memory, then by compute, then by index; a GPU that is named is the only one.
TEST(RunChoice, BestFit) {
    const std::vector gpus{gpu(0, gibibytes(16)), gpu(1, gibibytes(16)), gpu(2, gibibytes(24))};
    EXPECT_EQ(choose_run_gpu(gpus, {}, request(gibibytes(4))).gpu, 0);
    const std::vector runs{run_on(1, gibibytes(10)), run_on(2, gibibytes(20), 60)};
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(4))).gpu, 2);
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(6))).gpu, 1);
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(4), 50)).gpu, 1);
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(1), 0, "0")).gpu, 0);
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(1), 0, "GPU-1")).gpu, 1);
}

// Goal: leases and other processes' memory together never exceed a GPU, to the byte.
TEST(RunChoice, Capacity) {
    const std::vector gpus{gpu(0, gibibytes(16), gibibytes(2))};
    const std::vector runs{run_on(0, gibibytes(10), 70)};
    EXPECT_EQ(choose_run_gpu(gpus, runs, request(gibibytes(4), 30)).gpu, 0);
    EXPECT_FALSE(choose_run_gpu(gpus, runs, request(gibibytes(4) + Bytes{1})).gpu);
    EXPECT_FALSE(choose_run_gpu(gpus, runs, request(gibibytes(4), 31)).gpu);
}

struct Refusal {
    std::vector<RunGpu> gpus;
    std::vector<LiveRun> runs;
    RunRequest request;
    std::string reason;
    bool may_fit_later = false;
    bool fits_without_outside = false;
};

// Goal: a refusal names the GPU that comes closest, the numbers, and whether waiting can help.
TEST(RunChoice, Refused) {
    RunGpu with_mig = gpu(0, gibibytes(16));
    with_mig.unusable = "MIG mode is on";
    const std::vector two{gpu(0, gibibytes(16)), gpu(1, gibibytes(16), gibibytes(1))};
    const std::vector runs{run_on(0, gibibytes(14)), run_on(1, gibibytes(6), 90),
                           run_on(1, gibibytes(6))};
    const std::vector<Refusal> table{
        {{}, {}, request(gibibytes(1)), "the driver lists no GPU"},
        {two,
         {},
         request(gibibytes(1), 0, "7"),
         "--gpu: no GPU \"7\"; there is 0 (GPU-0), 1 (GPU-1)"},
        {{with_mig}, {}, request(gibibytes(1)), "GPU 0 (Tesla T4) cannot be used: MIG mode is on"},
        {two,
         {},
         request(gibibytes(17)),
         "no GPU has 17Gi; the largest is GPU 0 (Tesla T4) with 16Gi"},
        {two, {}, request(gibibytes(17), 0, "1"), "GPU 1 (Tesla T4) has 16Gi, less than 17Gi"},
        {two, runs, request(gibibytes(4)),
         "no GPU has 4Gi free; GPU 1 (Tesla T4) comes closest: 3Gi of its 16Gi are free: 2 runs "
         "have 12Gi, and processes outside of tessera run use 1Gi",
         true, true},
        {two, runs, request(gibibytes(8), 0, "0"),
         "no GPU has 8Gi free; GPU 0 (Tesla T4): 2Gi of its 16Gi are free: 1 run has 14Gi", true},
        {two, runs, request(gibibytes(3), 20),
         "no GPU has 3Gi and 20 percent of compute free; GPU 1 (Tesla T4) comes closest: 10 of its "
         "100 percent of compute are free",
         true},
    };
    for (const Refusal& row : table) {
        const RunChoice choice = choose_run_gpu(row.gpus, row.runs, row.request);
        EXPECT_FALSE(choice.gpu) << row.reason;
        EXPECT_EQ(choice.reason, row.reason);
        EXPECT_EQ(choice.may_fit_later, row.may_fit_later) << row.reason;
        EXPECT_EQ(choice.fits_without_outside, row.fits_without_outside) << row.reason;
    }
}

}  // namespace
}  // namespace tessera

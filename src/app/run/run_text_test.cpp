#include "app/run/run_text.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "app/run/run_gpus.hpp"

namespace tessera {
namespace {

// Goal: one line per run, dashes for what was not requested, and words where a number is not known.
TEST(RunText, Table) {
    const std::vector<LiveRun> runs{
        {.id = "Ab12Cd",
         .lease = {.gpu_index = 0,
                   .memory = gibibytes(4),
                   .cores = {30},
                   .cores_limit = {60},
                   .pid = 4711,
                   .command = "python train.py"},
         .uid = 1000,
         .is_program_alive = true,
         .used = mebibytes(1536),
         .refusals = 2},
        {.id = "x",
         .lease = {.gpu_index = 1, .memory = gibibytes(1), .command = "a"},
         .is_damaged = true}};
    EXPECT_EQ(run_table(runs),
              "RUN     GPU  MEMORY  USED     REFUSED  CORES%  CORES-LIMIT%  USER  PID    COMMAND\n"
              "Ab12Cd  0    4Gi     1.5Gi    2        30      60            1000  4711   python "
              "train.py\n"
              "x       1    1Gi     damaged  0        -       -             0     ended  a\n");
}

// Goal: the last line has the memory, the time on the GPU if it was measured, and the whole time.
TEST(RunText, End) {
    const RunLease lease{.gpu_index = 1, .memory = gibibytes(4)};
    RunEnd end{.wall_ns = 119'960'000'000, .use = {.most_memory = gibibytes(1)}};
    EXPECT_EQ(run_end_text(lease, end), "GPU 1: used up to 1Gi of 4Gi, ran for 119.9s");
    end = {.others_live = true,
           .wall_ns = 3'725'000'000'000,
           .use = {.most_memory = gibibytes(4),
                   .refusals = 3,
                   .time = {.kernels_ns = 125'000'000'000, .copies_ns = 1},
                   .is_timed = true}};
    EXPECT_EQ(run_end_text(lease, end),
              "GPU 1: used up to 4Gi of 4Gi (3 allocations refused), had work on the GPU for 2m5s, "
              "ran for 1h2m5s; "
              "processes that the program started are alive, and have the share until they end "
              "(tessera run --list)");
}

// Goal: what runs do not use of the memory in use belongs to others, and is never negative.
TEST(RunGpus, UsedOutside) {
    const std::vector<GpuReading> readings{
        {.uuid = GpuUuid("GPU-0"),
         .memory = gibibytes(16),
         .reserved = gibibytes(1),
         .used = gibibytes(5)},
        {.uuid = GpuUuid("GPU-1"), .index = 1, .memory = gibibytes(16), .used = gibibytes(1)},
        {.uuid = GpuUuid("GPU-2"), .index = 2, .lost = "GPU is lost"}};
    std::vector<LiveRun> runs(3);
    runs[0].lease.gpu = runs[1].lease.gpu = GpuUuid("GPU-0");
    runs[0].used = runs[1].used = gibibytes(2);
    runs[2].lease.gpu = GpuUuid("GPU-1");
    runs[2].used = gibibytes(2);
    const auto gpus = run_gpus(readings, memory_of_runs(runs));
    ASSERT_EQ(gpus.size(), 3U);
    EXPECT_EQ(gpus[0].memory, gibibytes(15));
    EXPECT_EQ(gpus[0].used_outside, gibibytes(1));
    EXPECT_EQ(gpus[1].used_outside, Bytes{});
    EXPECT_EQ(gpus[2].unusable, "the driver answers: GPU is lost");
}

}  // namespace
}  // namespace tessera

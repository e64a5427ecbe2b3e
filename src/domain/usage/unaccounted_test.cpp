#include "domain/usage/unaccounted.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const GpuUuid kGpu("GPU-a");
const Bytes kContext = mebibytes(500);

ShareUse share(const char* pod, std::int64_t gib, bool lives = true) {
    ShareUse use{.pod = PodUid(pod),
                 .name = {"s", pod},
                 .container = "main",
                 .gpu = kGpu,
                 .used = gibibytes(gib)};
    if (lives) use.processes = {{.pid = 1, .used = gibibytes(gib)}};
    return use;
}

PodGpuProcess process(const char* pod, std::int64_t pid, Bytes used) {
    return {.gpu = kGpu, .pid = pid, .pod = PodUid(pod), .used = used};
}

// Goal: a pod that uses what its accounts say is not reported, whatever its contexts use. A pod
// that uses more is reported, with all that is known of it. Processes that are not in the accounts
// add no allowance. Method: a table around one pod that has 2 GiB.
TEST(Unaccounted, BeyondTheAccounts) {
    struct Case {
        std::vector<Bytes> used;
        std::size_t counted;  // processes in the accounts
        bool is_found;
    };
    for (const Case& c : {Case{{gibibytes(2)}, 1, false},
                          {{gibibytes(2) + kContext}, 1, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 1, true},
                          {{gibibytes(2) + kContext}, 0, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 0, true},
                          {{gibibytes(1), gibibytes(1) + kContext + kContext}, 2, false},
                          {{gibibytes(1), gibibytes(1) + kContext + kContext}, 1, true},
                          {{gibibytes(2), kContext, kContext, kContext}, 1, true},
                          {{gibibytes(2), kContext, kContext, kContext}, 4, false},
                          {{gibibytes(2) + kContext + Bytes{1}}, 4, true},
                          {{gibibytes(1), gibibytes(2) + kContext}, 1, true}}) {
        std::vector<PodGpuProcess> processes;
        for (const Bytes used : c.used)
            processes.push_back(process("p", static_cast<std::int64_t>(processes.size()), used));
        std::vector uses{share("p", 2)};
        uses[0].processes.resize(c.counted);
        EXPECT_EQ(find_unaccounted(processes, uses, kContext).size(), c.is_found ? 1U : 0U);
    }
}

TEST(Unaccounted, SaysWhatIsKnown) {
    ShareUse side = share("p", 1);
    side.container = "side";
    const std::vector uses{share("p", 2), side};
    const std::vector processes{process("p", 7, gibibytes(4)), process("p", 8, gibibytes(1))};
    EXPECT_EQ(find_unaccounted(processes, uses, kContext),
              (std::vector<Unaccounted>{{.pod = PodUid("p"),
                                         .name = {"s", "p"},
                                         .gpu = kGpu,
                                         .used = gibibytes(5),
                                         .accounted = gibibytes(3),
                                         .pids = {7, 8}}}));
}

// Goal: a pod without a share of a GPU is reported if other pods use their shares of it. It is not
// reported on a GPU that was assigned as a whole, or if only dead processes left memory. Processes
// of no pod are ignored.
TEST(Unaccounted, Strangers) {
    const std::vector stranger{process("stranger", 7, mebibytes(1)), process("", 8, gibibytes(9))};
    EXPECT_EQ(find_unaccounted(stranger, std::vector{share("p", 2)}, kContext).size(), 1U);
    EXPECT_TRUE(find_unaccounted(stranger, std::vector{share("p", 2, false)}, kContext).empty());
    std::vector idle{share("p", 0)};  // its process uses none of this GPU
    EXPECT_TRUE(find_unaccounted(stranger, idle, kContext).empty());
    EXPECT_TRUE(find_unaccounted(stranger, {}, kContext).empty());
}

// Goal: used memory that is not claimed is found, beyond the allowance. Memory that a share keeps
// by a descriptor, which the driver counts for no process, is claimed; so is that of a process of
// no pod. A GPU without shares is ignored. Method: a table of what is in use of the GPU.
TEST(Unclaimed, IsWhatNobodyHas) {
    const std::vector uses{share("p", 4), share("q", 1), share("dead", 2, false)};
    const std::vector processes{process("p", 7, gibibytes(1)), process("q", 8, gibibytes(3)),
                                process("", 9, gibibytes(5))};
    const Bytes claimed = gibibytes(4 + 3 + 5 + 2);
    for (const Bytes used : {Bytes{}, claimed, claimed + kContext})
        EXPECT_TRUE(
            find_unclaimed(std::vector<GpuInUse>{{kGpu, used}}, processes, uses, kContext).empty());
    const Bytes more = claimed + kContext + Bytes{1};
    EXPECT_EQ(find_unclaimed(std::vector<GpuInUse>{{GpuUuid("GPU-b"), gibibytes(9)}, {kGpu, more}},
                             processes, uses, kContext),
              (std::vector<Unclaimed>{{.gpu = kGpu, .used = more, .claimed = claimed}}));
}

}  // namespace
}  // namespace tessera

#include "domain/run/run_environment.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the program has its share's variables once, and the caller's other variables.
TEST(RunEnvironment, Variables) {
    const RunLease lease{.gpu = GpuUuid("GPU-1"), .memory = gibibytes(4)};
    const std::vector<std::string> caller{"HOME=/root", "CUDA_VISIBLE_DEVICES=0,1",
                                          "LD_PRELOAD=", "LD_PRELOADED=x"};
    const std::vector<std::string> expected{"HOME=/root",
                                            "LD_PRELOADED=x",
                                            "NVIDIA_VISIBLE_DEVICES=GPU-1",
                                            "CUDA_VISIBLE_DEVICES=GPU-1",
                                            "TESSERA_GPU_MEMORY_BYTES=4294967296",
                                            "TESSERA_GPU_VISIBLE_MEMORY_BYTES=4294967296",
                                            "TESSERA_RUN=abc",
                                            "LD_PRELOAD=/r/libtessera-guard.so"};
    EXPECT_EQ(run_environment(caller, "abc", lease, "/r/libtessera-guard.so"), expected);
}

// Goal: the guard is loaded before the caller's own libraries.
TEST(RunEnvironment, Preload) {
    const auto environment =
        run_environment({"LD_PRELOAD=/usr/lib/libjemalloc.so"}, "abc", {}, "/r/guard.so");
    EXPECT_EQ(environment.back(), "LD_PRELOAD=/r/guard.so:/usr/lib/libjemalloc.so");
}

}  // namespace
}  // namespace tessera

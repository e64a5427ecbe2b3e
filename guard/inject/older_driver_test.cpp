// Goal: if a driver does not have a function that we hook, a program that found our name of it gets
// an error, and the guard works with the rest. Method: a build of the simulated driver without some
// functions.
#include <gtest/gtest.h>

#include "gpusim/test_support/worker.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMiB;

class GuardOlderDriver : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB, context_overhead: 138MiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override {
        namespace fs = std::filesystem;
        fs::copy_file(fs::canonical(TESSERA_BINARY_DIR "/gpusim/older/libcuda.so.1"),
                      node_.library("libcuda.so.1"), fs::copy_options::overwrite_existing);
        container_.grant_plenty();
    }
};

TEST_F(GuardOlderDriver, RefusesWhatItHasNot) {
    gpusim::in_child([this] {
        const gpusim::Worker worker(container_.facade());
        const auto launch = [&] {
            CUlaunchConfig config = {};
            config.gridDimX = config.gridDimY = config.gridDimZ = 1;
            config.blockDimX = config.blockDimY = config.blockDimZ = 1;
            std::uint64_t ns = 1000;
            void* parameters[] = {&ns};
            return CALL(worker.cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr);
        };
        EXPECT_EQ(launch(), CUDA_ERROR_NOT_SUPPORTED);
        for (int i = 0; i < 100; i++) {  // with burst budget and without
            EXPECT_EQ(worker.launch(1000), CUDA_SUCCESS);
            EXPECT_EQ(launch(), CUDA_ERROR_NOT_SUPPORTED);
        }
    });
}

// If the container's first context takes much, it is created twice, and measured each time.
TEST_F(GuardOlderDriver, GivesUpAPrimaryContextAsItCan) {
    gpusim::in_child([this] {
        const gpusim::Library nvml(node_.library("libnvidia-ml.so.1"));
        const gpusim::Library cuda(container_.facade());
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
        EXPECT_EQ(held(container_.region().accounts(), 0) * kAllocationUnitBytes, 138 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease)(0), CUDA_SUCCESS);
        EXPECT_EQ(held(container_.region().accounts(), 0), 0U);
    });
}

}  // namespace
}  // namespace tessera::guard

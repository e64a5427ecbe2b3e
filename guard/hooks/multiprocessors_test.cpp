// Goal: a program that changes its environment gets no more of a GPU than its container has by
// NVIDIA MPS. Method: gpusim's control daemon, whose default is the limit of a larger container.
#include "gpusim/test_support/mps_test.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::in_child;
using gpusim::kGiB;
using gpusim::Library;
using gpusim::Variable;

constexpr const char* kPercentage = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

class GuardMultiprocessors : public testing::Test {
  protected:
    // What each way to create a context returns, in a program of the container.
    void expect(CUresult expected) const {
        in_child([&] {
            const Library cuda(container_.facade());
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
            CUcontext context = nullptr;
            EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0), expected);
            EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), expected);
            EXPECT_EQ(CALL(cuda, cuCtxCreate_v3)(&context, nullptr, 0, 0, 0), expected);
            CUdevResource all = {};
            CUdevResourceDesc description = nullptr;
            CUgreenCtx green = nullptr;
            EXPECT_EQ(CALL(cuda, cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM),
                      CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuDevResourceGenerateDesc)(&description, &all, 1), CUDA_SUCCESS);
            EXPECT_EQ(
                CALL(cuda, cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM),
                expected);
            CUdeviceptr pointer = 0;
            EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kGiB / 4),
                      expected == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
        });
    }
    [[nodiscard]] std::uint64_t refused() const {
        return container_.region().accounts().gpus[0].refused_contexts.load();
    }

    gpusim::SimulatedNode node_{
        "gpus:\n"
        "  - {model: A, memory: 8GiB, context_overhead: 100MiB, multiprocessors: 132}\n"};
    gpusim::MpsDaemon daemon_{node_};
    // 25 percent are 32 multiprocessors, and 3 percent more are tolerated.
    GuardedContainer container_{node_,
                                {{.gpu = 0,
                                  .memory_bytes = 2 * kGiB,
                                  .context_bytes = kContext,
                                  .most_multiprocessors = 37}}};
};

TEST_F(GuardMultiprocessors, AProgramThatKeepsItsLimitHasTheGpu) {
    daemon_.command("set_default_active_thread_percentage 50");
    const Variable limited(kPercentage, "25");
    expect(CUDA_SUCCESS);
    EXPECT_EQ(refused(), 0U);
}

TEST_F(GuardMultiprocessors, AProgramWithoutItsLimitGetsNoContext) {
    daemon_.command("set_default_active_thread_percentage 50");
    expect(CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(refused(), 4U);
    EXPECT_EQ(held(container_.region().accounts(), 0), 0U) << "nothing is charged for them";
    const Variable raised(kPercentage, "40");
    expect(CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(refused(), 8U);
}

// The daemon's own limit is enough where all containers have the same.
TEST_F(GuardMultiprocessors, TheDaemonsLimitCountsToo) {
    daemon_.command("set_default_active_thread_percentage 25");
    expect(CUDA_SUCCESS);
}

TEST_F(GuardMultiprocessors, AContainerWithoutMpsHasNoSuchLimit) {
    container_.limits().gpus[0].most_multiprocessors = 0;
    expect(CUDA_SUCCESS);
}

// A program that does not reach the daemon has the whole GPU.
TEST_F(GuardMultiprocessors, AProgramThatAvoidsMpsGetsNoContext) {
    const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
    expect(CUDA_ERROR_NOT_PERMITTED);
}

}  // namespace
}  // namespace tessera::guard

// Goal: what a context grows by when its limits are raised is charged, and is refused over the
// container's limit. Method: the facade in front of the simulated driver, whose own count is
// compared.
#include "guard/base/threads_at_once.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;

constexpr std::uint64_t kThreads = 40 * 1024;  // that the simulated GPU runs at once

class GuardContextLimits : public HeldMemory {
  protected:
    static CUresult set(const CudaProgram& tenant, CUlimit limit, std::size_t value) {
        return CALL(tenant.cuda, cuCtxSetLimit)(limit, value);
    }
    static std::size_t get(const CudaProgram& tenant, CUlimit limit) {
        std::size_t value = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxGetLimit)(&value, limit), CUDA_SUCCESS);
        return value;
    }
};

TEST_F(GuardContextLimits, CountWhatTheyGrowBy) {
    in_tenant([this](CudaProgram& tenant) {
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 8 * kMiB), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 108 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 100 * kMiB);
        EXPECT_EQ(set(tenant, CU_LIMIT_PRINTF_FIFO_SIZE, 41 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 140 * kMiB);
        EXPECT_EQ(set(tenant, CU_LIMIT_STACK_SIZE, 3 * 1024), CUDA_SUCCESS);
        expect_held(kContext + 140 * kMiB + 2 * 1024 * kThreads);
        EXPECT_EQ(get(tenant, CU_LIMIT_STACK_SIZE), 3U * 1024);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(0);
    });
}

// No driver promises to release it before the context ends.
TEST_F(GuardContextLimits, CountAtTheirHighest) {
    in_tenant([this](CudaProgram& tenant) {
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 108 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 8 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kContext + 100 * kMiB);
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 208 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
    });
}

TEST_F(GuardContextLimits, AreRefusedOverTheLimit) {
    in_tenant([this](CudaProgram& tenant) {
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(get(tenant, CU_LIMIT_MALLOC_HEAP_SIZE), 8 * kMiB);
        EXPECT_EQ(set(tenant, CU_LIMIT_STACK_SIZE, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
        EXPECT_EQ(tenant.allocate(kGiB - kContext), CUDA_SUCCESS);
        EXPECT_EQ(set(tenant, CU_LIMIT_PRINTF_FIFO_SIZE, 2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(set(tenant, CU_LIMIT_PRINTF_FIFO_SIZE, 2 * kMiB), CUDA_SUCCESS);
    });
}

// If the GPU itself has no room, the driver refuses, and nothing stays charged.
TEST_F(GuardContextLimits, AreTheDriversToRefuse) {
    container_.limits().gpus[0].memory = units_of(100 * kGiB);
    in_tenant([this](CudaProgram& tenant) {
        EXPECT_EQ(set(tenant, CU_LIMIT_MALLOC_HEAP_SIZE, 20 * kGiB), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
        EXPECT_EQ(set(tenant, CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64), CUDA_ERROR_UNSUPPORTED_LIMIT);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(set(tenant, CU_LIMIT_STACK_SIZE, 4096), CUDA_ERROR_INVALID_CONTEXT);
    });
}

// If a driver does not report the numbers, nothing is assumed: the limit is not raised.
TEST(GuardThreadsAtOnce, AreAsTheDriverSays) {
    using Ask = std::function<CUresult(int*, CUdevice_attribute, CUdevice)>;
    const auto answers = [](int multiprocessors, int threads) -> Ask {
        return [=](int* value, CUdevice_attribute which, CUdevice) {
            *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? multiprocessors : threads;
            return *value < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        };
    };
    EXPECT_EQ(threads_at_once(answers(132, 2048), 0), 132U * 2048);
    EXPECT_EQ(threads_at_once(answers(0, 2048), 0), 0U);
    EXPECT_EQ(threads_at_once(answers(-1, 2048), 0), 0U);
    EXPECT_EQ(threads_at_once(answers(132, -1), 0), 0U);
    EXPECT_EQ(threads_at_once(Ask{}, 0), 0U);
}

}  // namespace
}  // namespace tessera::guard

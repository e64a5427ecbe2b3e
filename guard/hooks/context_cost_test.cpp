// Goal: a context is charged for what the driver took for it, although no setting gives that
// number. Method: GPUs whose contexts cost something that the limits do not say, with NVML in the
// process, and the driver's own count.
#include <fstream>

#include "api/nvidia/nvml.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::in_child;
using gpusim::kMiB;
using gpusim::Library;

constexpr std::uint64_t kCost = 138 * kMiB;

class GuardContextCost : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB, context_overhead: 138MiB}\n"};
    GuardedContainer container_{node_, {{0, gpusim::kGiB, 0}}};

    // Runs `body` in a process where the loader finds the facade and NVML.
    template <typename Body>
    void with_cuda(Body body) const {
        in_child([&] {
            const Library nvml(node_.library("libnvidia-ml.so.1"));
            const Library cuda(container_.facade());
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
            body(cuda);
        });
    }
    [[nodiscard]] std::uint64_t held_bytes() const {
        return held(container_.region().accounts(), 0) * kAllocationUnitBytes;
    }
    void expect_held(std::uint64_t bytes) const {
        EXPECT_EQ(held_bytes(), bytes);
        EXPECT_EQ(node_.used(0), bytes) << "as the driver says";
    }
    static CUresult create(const Library& cuda, CUcontext& context, unsigned flags = 0) {
        return CALL(cuda, cuCtxCreate_v2)(&context, flags, 0);
    }
    // What contexts cost that are created from now on. The node's own mapping of the file is
    // read-only.
    void set_cost(std::uint64_t bytes) const {
        const gpusim::GpusFile* file = node_.state().file;
        const auto offset = reinterpret_cast<const char*>(&file->gpus[0].context_overhead_bytes) -
                            reinterpret_cast<const char*>(file);
        std::fstream out(node_.state_directory() / "gpus",
                         std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(offset).write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
        EXPECT_TRUE(out.flush());
    }
};

TEST_F(GuardContextCost, IsWhatTheDriverTook) {
    with_cuda([this](const Library& cuda) {
        CUcontext first = nullptr;
        CUcontext second = nullptr;
        CUcontext primary = nullptr;
        EXPECT_EQ(create(cuda, first), CUDA_SUCCESS);
        expect_held(kCost);
        EXPECT_EQ(create(cuda, second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
        expect_held(3 * kCost);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(second), CUDA_SUCCESS);
        expect_held(kCost);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(first), CUDA_SUCCESS);
        expect_held(0);
    });
}

TEST_F(GuardContextCost, IsRefusedWhereItIsTooMuch) {
    container_.limits().gpus[0].memory = units_of(kCost) - 1;
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        EXPECT_EQ(create(cuda, context), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(0);
        container_.limits().gpus[0].memory = units_of(kCost);
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
        expect_held(kCost);
    });
}

// The last context's cost is reserved first. So the driver is not called if there is no room for
// it.
TEST_F(GuardContextCost, IsKnownToTheNextProcess) {
    with_cuda([](const Library& cuda) {
        CUcontext context = nullptr;
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
    });
    EXPECT_EQ(container_.region().accounts().context_costs[0][0].units(), units_of(kCost));
    container_.region().reap();
    in_child([this] {
        const gpusim::CudaProgram without_nvml(container_.facade());
        expect_held(kCost);
    });
}

TEST_F(GuardContextCost, IsExpectedAsTheAgentSaysWithoutNvml) {
    container_.limits().gpus[0].context_cost = units_of(kCost);
    in_child([this] {
        const gpusim::CudaProgram tenant(container_.facade());
        expect_held(kCost);
    });
}

// Once the cost is known, memory that a neighbour takes while the context is created does not
// count.
TEST_F(GuardContextCost, OfANeighbourIsNotCounted) {
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
        MeasuredCost& known = container_.region().accounts().context_costs[0][0];
        known.and_one.store(units_of(kCost) / 3 + 1);
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
        EXPECT_EQ(held_bytes(), kCost + 46 * kMiB) << "the neighbour's memory is not counted";
    });
}

// A context with other flags may take hundreds of MiB more. So the first context of each kind is
// measured, and neither kind's cost is used for the other.
TEST_F(GuardContextCost, OfOtherFlagsIsMeasuredByItself) {
    container_.limits().gpus[0].memory = units_of(2 * gpusim::kGiB);
    with_cuda([this](const Library& cuda) {
        CUcontext context = nullptr;
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
        set_cost(3 * kCost);
        EXPECT_EQ(create(cuda, context, CU_CTX_MAP_HOST), CUDA_SUCCESS);
        expect_held(4 * kCost);
        EXPECT_EQ(create(cuda, context, CU_CTX_MAP_HOST | CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
        expect_held(7 * kCost);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxSetFlags_v2)(0, CU_CTX_MAP_HOST), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
        expect_held(10 * kCost);
        set_cost(kCost);
        EXPECT_EQ(create(cuda, context), CUDA_SUCCESS);
        expect_held(11 * kCost);
    });
}

// The program has initialized NVML itself, and shuts it down whenever it wants.
TEST_F(GuardContextCost, LeavesNvmlAsItWas) {
    in_child([this] {
        const Library nvml(node_.library("libnvidia-ml.so.1"));
        const gpusim::CudaProgram tenant(container_.facade());
        unsigned count = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        CUcontext second = nullptr;
        EXPECT_EQ(create(tenant.cuda, second), CUDA_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    });
}

}  // namespace
}  // namespace tessera::guard

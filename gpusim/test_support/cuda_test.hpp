// The base of the tests of libcuda.so.1: a node of two small GPUs, and processes that use it.
#pragma once

#include <gtest/gtest.h>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {

// A GPU with 1 GiB of usable memory and free contexts, and one whose contexts cost memory.
inline constexpr char kSmallGpus[] =
    "gpus:\n"
    "  - {model: A, memory: 1100MiB, reserved: 76MiB}\n"
    "  - {model: B, memory: 1GiB, context_overhead: 300MiB}\n";

class CudaTest : public testing::Test {
  protected:
    SimulatedNode node_{kSmallGpus};

    std::filesystem::path library() const { return node_.library("libcuda.so.1"); }

    // Runs `body` in a process with libcuda initialized.
    template <class Body>
    void with_cuda(Body body) const {
        in_child([&] {
            const Library cuda(library());
            ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
            body(cuda);
        });
    }

    // The same with a context on device 0.
    template <class Body>
    void with_context(Body body) const {
        with_cuda([&](const Library& cuda) {
            CUcontext context = nullptr;
            ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
            body(cuda);
        });
    }
};

}  // namespace gpusim

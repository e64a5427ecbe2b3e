// A CUDA program that uses device 0, for tests of the simulated driver, or of a library in front of
// it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/library.hpp"

namespace gpusim {

// Converts a device address to a pointer, or a number that the driver's API takes as one.
inline void* as_pointer(CUdeviceptr pointer) {
    return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

// It has a context of the libcuda.so.1 at that path, and frees the newest allocation first.
struct CudaProgram {
    explicit CudaProgram(const std::filesystem::path& library) : cuda(library) {
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
    }

    CUresult allocate(std::uint64_t bytes) {
        pointers.push_back(0);
        const CUresult result = CALL(cuda, cuMemAlloc_v2)(&pointers.back(), bytes);
        if (result != CUDA_SUCCESS) pointers.pop_back();
        return result;
    }
    CUresult free_last() {
        const CUdeviceptr pointer = pointers.back();
        pointers.pop_back();
        return CALL(cuda, cuMemFree_v2)(pointer);
    }
    std::uint64_t free_bytes() const { return memory().free; }
    std::uint64_t total_bytes() const { return memory().total; }

    Library cuda;
    CUcontext context = nullptr;
    std::vector<CUdeviceptr> pointers;

  private:
    struct Memory {
        std::size_t free = 0;
        std::size_t total = 0;
    };
    Memory memory() const {
        Memory memory;
        EXPECT_EQ(CALL(cuda, cuMemGetInfo_v2)(&memory.free, &memory.total), CUDA_SUCCESS);
        return memory;
    }
};

// Starts a process that allocates `bytes`, and returns when it has them. The process keeps them
// until it receives a number or is killed.
inline std::unique_ptr<ChildProcess> start_holder(const std::filesystem::path& library,
                                                  std::uint64_t bytes) {
    auto child = std::make_unique<ChildProcess>([&library, bytes](Wire& wire) {
        CudaProgram tenant(library);
        EXPECT_EQ(tenant.allocate(bytes), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(child->wire().receive(), 1U);
    return child;
}

}  // namespace gpusim

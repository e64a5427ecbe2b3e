// A process that uses device 0, for tests of the simulated driver, or of a library in front of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/library.hpp"
#include "gpusim/test_support/peer.hpp"

namespace gpusim {

// Converts between numbers and pointers where the ABI mixes them.
inline void* at(CUdeviceptr pointer) {
    return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

// With a context, through the libcuda.so.1 of that path.
struct Tenant {
    explicit Tenant(const std::filesystem::path& library) : cuda(library) {
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
    }

    CUresult take(std::uint64_t bytes) {
        pointers.push_back(0);
        const CUresult result = CALL(cuda, cuMemAlloc_v2)(&pointers.back(), bytes);
        if (result != CUDA_SUCCESS) pointers.pop_back();
        return result;
    }
    CUresult give() {
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

// Starts a process that takes `bytes`, reports, and holds them until a command or a kill.
inline std::unique_ptr<Peer> start_holder(const std::filesystem::path& library,
                                          std::uint64_t bytes) {
    auto peer = std::make_unique<Peer>([&library, bytes](Wire& wire) {
        Tenant tenant(library);
        EXPECT_EQ(tenant.take(bytes), CUDA_SUCCESS);
        wire.send();
        wire.receive();
    });
    EXPECT_EQ(peer->wire().receive(), 1U);
    return peer;
}

}  // namespace gpusim

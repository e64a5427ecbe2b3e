// A process that gives device 0 work, for tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "gpusim/test_support/cuda_program.hpp"

namespace gpusim {

// Kernels that a real driver compiles too: spin (spin_kernel.inc), and `turn`. `turn` keeps each
// block busy for a number of turns, so its work is the same whichever other process has the GPU
// (simulated: 1 ns a turn).
inline constexpr char kKernels[] =
    "//gpusim spin block_ns=param0\n"
    "//gpusim turn block_ns=param0\n"
    ".version 6.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
    ".visible .global .align 8 .b8 table[4194304];\n"
#include "gpusim/spin_kernel.inc"
    ".visible .entry turn(.param .u64 turns)\n"
    "{\n"
    "    .reg .u64 %rd<4>;\n"
    "    .reg .pred %p1;\n"
    "    ld.param.u64 %rd1, [turns];\n"
    "    mov.u64 %rd2, 1;\n"
    "    mov.u64 %rd3, 0;\n"
    "more:\n"
    "    mad.lo.u64 %rd2, %rd2, 6364136223846793005, 1442695040888963407;\n"
    "    add.u64 %rd3, %rd3, 1;\n"
    "    setp.lt.u64 %p1, %rd3, %rd1;\n"
    "    @%p1 bra more;\n"
    "    setp.ne.u64 %p1, %rd2, 0;\n"
    "    @%p1 bra done;\n"
    "    st.global.u64 [table], %rd2;\n"  // so that the compiler does not remove the turns
    "done:\n"
    "    ret;\n"
    "}\n"
    ".visible .entry nothing()\n"
    "{\n"
    "    ret;\n"
    "}\n";

inline constexpr std::uint64_t kMicrosecond = 1000;
inline constexpr std::uint64_t kMillisecond = 1000 * kMicrosecond;

// A grid that fills the simulated GPU, and one that fills a tenth of it.
inline constexpr unsigned kWholeGpuBlocks = 40;
inline constexpr unsigned kTenthOfGpuBlocks = 4;

struct Worker : CudaProgram {
    explicit Worker(const std::filesystem::path& library) : CudaProgram(library) {
        EXPECT_EQ(CALL(cuda, cuModuleLoadData)(&module, kKernels), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&spin, module, "spin"), CUDA_SUCCESS);
    }

    CUresult launch(std::uint64_t ns, CUstream stream = nullptr,
                    unsigned blocks = kWholeGpuBlocks) const {
        void* parameters[] = {&ns};
        return launch_kernel(spin, blocks, 1, 1, 1024, 1, 1, 0, stream, parameters, nullptr);
    }
    CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(cuda, cuStreamCreate)(&stream, flags), CUDA_SUCCESS);
        return stream;
    }
    CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) const {
        CUevent event = nullptr;
        EXPECT_EQ(CALL(cuda, cuEventCreate)(&event, flags), CUDA_SUCCESS);
        return event;
    }
    // A new event, recorded now.
    CUevent mark(CUstream stream = nullptr) const {
        CUevent event = make_event();
        EXPECT_EQ(CALL(cuda, cuEventRecord)(event, stream), CUDA_SUCCESS);
        return event;
    }
    // The time on the device, after both are reached. `line` is the caller's, for messages.
    std::uint64_t ns_between(CUevent start, CUevent end, int line = __builtin_LINE()) const {
        float milliseconds = -1;
        EXPECT_EQ(CALL(cuda, cuEventSynchronize)(end), CUDA_SUCCESS) << "line " << line;
        EXPECT_EQ(CALL(cuda, cuEventElapsedTime)(&milliseconds, start, end), CUDA_SUCCESS)
            << "line " << line;
        return static_cast<std::uint64_t>(std::lround(static_cast<double>(milliseconds) * 1e6));
    }
    CUresult wait() const { return CALL(cuda, cuCtxSynchronize)(); }

    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    // Looked up once, as programs do: a lookup takes thousands of instructions.
    decltype(&::cuLaunchKernel) launch_kernel = CALL(cuda, cuLaunchKernel);
};

// How long a kernel that fills the GPU for a millisecond takes, in microseconds. It follows
// another one, so that the time of its launch does not matter. A host that launches it too late
// makes it seem longer, so the shortest of a few counts.
inline std::uint64_t kernel_us(const Worker& worker) {
    std::uint64_t shortest = ~std::uint64_t{0};
    for (int tries = 0; tries < 5; tries++) {
        EXPECT_EQ(worker.launch(5 * kMillisecond), CUDA_SUCCESS);
        CUevent start = worker.mark();
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        shortest = std::min(shortest, worker.ns_between(start, worker.mark()));
    }
    return (shortest + 500) / 1000;
}

}  // namespace gpusim

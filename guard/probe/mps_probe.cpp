// tessera-mps-probe: says how much of its GPU a process of this container gets by NVIDIA MPS, as
// one line of JSON (src/wire/mps/mps_probe_json.hpp). `tessera mps verify` runs it in containers.
//
//     tessera-mps-probe [--fill] [--threads PERCENT]
//
// It runs a kernel whose blocks write down the multiprocessors on which they run, and asks for more
// memory than the whole share, which must be refused. With --fill it takes all memory that it gets,
// for a moment. With --threads it lowers its own percentage first.
//
// Needs only libc (glibc 2.17) and libcuda.so.1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/nvidia/cuda.h"

namespace {

constexpr char kKernel[] =
    "//gpusim probe block_ns=param0\n"
    "//gpusim-marks probe param1\n"
    ".version 6.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
    ".visible .entry probe(.param .u64 nanoseconds, .param .u64 marks)\n"
    "{\n"
    "    .reg .u32 %r<4>;\n"
    "    .reg .u64 %rd<8>;\n"
    "    .reg .pred %p1;\n"
    "    ld.param.u64 %rd1, [nanoseconds];\n"
    "    ld.param.u64 %rd4, [marks];\n"
    "    cvta.to.global.u64 %rd4, %rd4;\n"
    "    mov.u32 %r1, %smid;\n"
    "    and.b32 %r1, %r1, 1023;\n"
    "    mul.wide.u32 %rd5, %r1, 4;\n"
    "    add.u64 %rd4, %rd4, %rd5;\n"
    "    mov.u32 %r2, 1;\n"
    "    st.global.u32 [%rd4], %r2;\n"
    "    mov.u64 %rd2, %globaltimer;\n"
    "again:\n"
    "    mov.u64 %rd3, %globaltimer;\n"
    "    sub.u64 %rd3, %rd3, %rd2;\n"
    "    setp.lt.u64 %p1, %rd3, %rd1;\n"
    "    @%p1 bra again;\n"
    "    ret;\n"
    "}\n";

constexpr unsigned kMarks = 1024;   // multiprocessors; no GPU has that many
constexpr unsigned kBlocks = 1024;  // some for each multiprocessor, so that each gets one
constexpr unsigned kThreads = 1024;
constexpr std::uint64_t kBlockNs = 1'000'000;
constexpr std::size_t kUnit = std::size_t{2} << 20;
constexpr std::size_t kLargestPiece = std::size_t{256} << 20;
constexpr std::size_t kMostPieces = 4096;
constexpr int kUsageStatus = 2;

[[noreturn]] void fail(const char* call, CUresult result) {
    const char* name = nullptr;
    const char* text = nullptr;
    cuGetErrorName(result, &name);
    cuGetErrorString(result, &text);
    std::printf("{\"version\":1,\"error\":\"%s: %s (%d): %s\"}\n", call,
                name != nullptr ? name : "?", static_cast<int>(result),
                text != nullptr ? text : "unknown code");
    std::exit(1);
}

void check(const char* call, CUresult result) {
    if (result != CUDA_SUCCESS) fail(call, result);
}

struct Compute {
    unsigned multiprocessors = 0;  // on which blocks ran
    double blocks_per_s = 0;
};

Compute run_kernel() {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr marks = 0;
    CUevent begin = nullptr;
    CUevent end = nullptr;
    check("cuModuleLoadData", cuModuleLoadData(&module, kKernel));
    check("cuModuleGetFunction", cuModuleGetFunction(&kernel, module, "probe"));
    check("cuMemAlloc", cuMemAlloc_v2(&marks, kMarks * sizeof(std::uint32_t)));
    check("cuMemsetD8", cuMemsetD8_v2(marks, 0, kMarks * sizeof(std::uint32_t)));
    check("cuEventCreate", cuEventCreate(&begin, 0));
    check("cuEventCreate", cuEventCreate(&end, 0));
    std::uint64_t ns = kBlockNs;
    void* parameters[] = {&ns, &marks};
    check("cuEventRecord", cuEventRecord(begin, nullptr));
    check("cuLaunchKernel",
          cuLaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, parameters, nullptr));
    check("cuEventRecord", cuEventRecord(end, nullptr));
    check("cuCtxSynchronize", cuCtxSynchronize());
    float ms = 0;
    check("cuEventElapsedTime", cuEventElapsedTime(&ms, begin, end));
    std::uint32_t marked[kMarks];
    check("cuMemcpyDtoH", cuMemcpyDtoH_v2(marked, marks, sizeof marked));
    check("cuMemFree", cuMemFree_v2(marks));
    Compute out;
    for (const std::uint32_t mark : marked)
        out.multiprocessors += mark != 0 ? 1 : 0;
    if (ms > 0) out.blocks_per_s = kBlocks * 1000.0 / static_cast<double>(ms);
    return out;
}

// Whether the driver gives that much, which is freed again.
bool is_given(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    const CUresult result = cuMemAlloc_v2(&pointer, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    check("cuMemAlloc", result);
    check("cuMemFree", cuMemFree_v2(pointer));
    return true;
}

// How much it gets in pieces that become smaller.
std::size_t fill() {
    static CUdeviceptr pieces[kMostPieces];
    std::size_t count = 0;
    std::size_t filled = 0;
    for (std::size_t piece = kLargestPiece; piece >= kUnit; piece /= 2) {
        while (count < kMostPieces && cuMemAlloc_v2(&pieces[count], piece) == CUDA_SUCCESS) {
            count++;
            filled += piece;
        }
    }
    while (count > 0)
        check("cuMemFree", cuMemFree_v2(pieces[--count]));
    return filled;
}

int probe(bool fills) {
    check("cuInit", cuInit(0));
    CUdevice device = 0;
    CUcontext context = nullptr;
    int multiprocessors = 0;
    check("cuDeviceGet", cuDeviceGet(&device, 0));
    check("cuCtxCreate", cuCtxCreate_v2(&context, 0, device));
    check("cuDeviceGetAttribute",
          cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    const Compute compute = run_kernel();
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check("cuMemGetInfo", cuMemGetInfo_v2(&free_bytes, &total_bytes));
    const bool is_limited = !is_given(total_bytes + kUnit);
    const std::size_t filled = fills ? fill() : 0;
    std::printf(
        "{\"version\":1,\"deviceMultiprocessors\":%d,\"usedMultiprocessors\":%u,"
        "\"blocksPerSecond\":%.0f,\"totalBytes\":%zu,\"freeBytes\":%zu,\"limited\":%s",
        multiprocessors, compute.multiprocessors, compute.blocks_per_s, total_bytes, free_bytes,
        is_limited ? "true" : "false");
    if (fills) std::printf(",\"filledBytes\":%zu", filled);
    std::printf("}\n");
    return 0;
}

int run(int argc, char** argv) {
    bool fills = false;
    for (int i = 1; i < argc; i++) {
        const bool is_last = i + 1 == argc;
        if (std::strcmp(argv[i], "--fill") == 0) {
            fills = true;
        } else if (std::strcmp(argv[i], "--threads") == 0 && !is_last) {
            setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", argv[++i], 1);
        } else {
            std::fprintf(stderr, "usage: tessera-mps-probe [--fill] [--threads PERCENT]\n");
            return kUsageStatus;
        }
    }
    return probe(fills);
}

}  // namespace

// The start files of newer glibc need that glibc, also in a program that calls nothing new.
extern "C" [[noreturn]] void tessera_probe_start(long* stack) {
    std::exit(run(static_cast<int>(stack[0]), reinterpret_cast<char**>(stack + 1)));
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "    xorl %ebp, %ebp\n"
    "    movq %rsp, %rdi\n"
    "    andq $-16, %rsp\n"
    "    call tessera_probe_start\n"
    "    hlt\n");

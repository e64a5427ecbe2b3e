// gpuspin: keeps the first visible device busy with kernels of MICROSECONDS each, one after the
// other, until SIGTERM or SIGINT ends it.
//
//     gpuspin MICROSECONDS
//
// Its line is stable; scripts grep it:
//     spinning on device 0 in kernels of 1000 us
//
// A call that fails ends it with status 1 and "gpuspin: cuLaunchKernel: CUDA_ERROR_... (2): ..." on
// stderr. Needs only libc and libcuda.so.1, and works as PID 1 of a container.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "api/nvidia/cuda.h"

namespace {

constexpr char kKernel[] =
    "//gpusim spin block_ns=param0\n"
    ".version 6.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
#include "gpusim/spin_kernel.inc"
    ;

constexpr unsigned kBlocks = 40;
constexpr unsigned kThreads = 1024;
constexpr int kUsageStatus = 2;

bool check(const char* call, CUresult result) {
    if (result == CUDA_SUCCESS) return true;
    const char* name = nullptr;
    const char* text = nullptr;
    cuGetErrorName(result, &name);
    cuGetErrorString(result, &text);
    std::fprintf(stderr, "gpuspin: %s: %s (%d): %s\n", call, name != nullptr ? name : "?",
                 static_cast<int>(result), text != nullptr ? text : "unknown code");
    return false;
}

int spin(std::uint64_t ns) {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    if (!check("cuInit", cuInit(0)) || !check("cuCtxCreate", cuCtxCreate_v2(&context, 0, 0)) ||
        !check("cuModuleLoadData", cuModuleLoadData(&module, kKernel)) ||
        !check("cuModuleGetFunction", cuModuleGetFunction(&kernel, module, "spin")))
        return 1;
    std::printf("spinning on device 0 in kernels of %llu us\n",
                static_cast<unsigned long long>(ns / 1000));
    void* parameters[] = {&ns};
    while (check("cuLaunchKernel", cuLaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr,
                                                  parameters, nullptr))) {
    }
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    char* end = nullptr;
    const unsigned long long us = argc == 2 ? std::strtoull(argv[1], &end, 10) : 0;
    if (us == 0 || us > 10'000'000 || *end != '\0') {
        std::fprintf(stderr, "usage: gpuspin MICROSECONDS   (1 to 10000000, of each kernel)\n");
        return kUsageStatus;
    }
    // PID 1 gets no default action for a signal.
    std::signal(SIGTERM, [](int) { std::_Exit(0); });
    std::signal(SIGINT, [](int) { std::_Exit(0); });
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    return spin(us * 1000);
}

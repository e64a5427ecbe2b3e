// gpuhog: takes memory on the first visible device and holds it until SIGTERM or SIGINT (exit 0).
//
//     gpuhog [--once] SIZE      SIZE: 3GiB, 512MiB, bytes; 0 takes nothing
//
// Its lines are stable; scripts grep them:
//     devices: 1
//     device 0: uuid GPU-..., name Tesla T4, total 16106127360 bytes
//     allocated 3221225472 bytes on device 0
//     memory: free 12884901888 of 16106127360 bytes on device 0
//
// A call that fails ends it with status 1 and "gpuhog: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2):
// ..." on stderr. Needs only libc and libcuda.so.1, and works as PID 1 of a container.
#include <csignal>
#include <cstdio>
#include <cstring>

#include "api/nvidia/cuda.h"
#include "gpusim/state/size_text.hpp"

namespace {

constexpr int kUsageStatus = 2;

struct Options {
    bool once = false;
    std::uint64_t bytes = 0;
};

bool parse(int argc, char** argv, Options* options) {
    const char* size = nullptr;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--once") == 0) {
            options->once = true;
        } else if (size == nullptr) {
            size = argv[i];
        } else {
            return false;
        }
    }
    return size != nullptr && gpusim::parse_size(size, &options->bytes);
}

bool check(const char* call, CUresult result) {
    if (result == CUDA_SUCCESS) return true;
    const char* name = nullptr;
    const char* text = nullptr;
    cuGetErrorName(result, &name);
    cuGetErrorString(result, &text);
    std::fprintf(stderr, "gpuhog: %s: %s (%d): %s\n", call, name != nullptr ? name : "?",
                 static_cast<int>(result), text != nullptr ? text : "unknown code");
    return false;
}

bool print_device(int ordinal) {
    CUdevice device = 0;
    CUuuid uuid = {};
    char name[96] = {};
    size_t total = 0;
    if (!check("cuDeviceGet", cuDeviceGet(&device, ordinal)) ||
        !check("cuDeviceGetUuid", cuDeviceGetUuid_v2(&uuid, device)) ||
        !check("cuDeviceGetName", cuDeviceGetName(name, sizeof name, device)) ||
        !check("cuDeviceTotalMem", cuDeviceTotalMem_v2(&total, device))) {
        return false;
    }
    std::printf("device %d: uuid GPU-", ordinal);
    for (int i = 0; i < 16; i++) {
        const bool is_group_start = i == 4 || i == 6 || i == 8 || i == 10;
        std::printf("%s%02x", is_group_start ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
    }
    std::printf(", name %s, total %zu bytes\n", name, total);
    return true;
}

bool take(std::uint64_t bytes) {
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (!check("cuCtxCreate", cuCtxCreate_v2(&context, 0, 0))) return false;
    if (bytes > 0) {
        if (!check("cuMemAlloc", cuMemAlloc_v2(&pointer, bytes))) return false;
        std::printf("allocated %llu bytes on device 0\n", static_cast<unsigned long long>(bytes));
    }
    if (!check("cuMemGetInfo", cuMemGetInfo_v2(&free_bytes, &total_bytes))) return false;
    std::printf("memory: free %zu of %zu bytes on device 0\n", free_bytes, total_bytes);
    return true;
}

// Blocks the signals first and waits for them later. PID 1 gets no default action for a signal, and
// threads that the driver may start must inherit the mask.
void block_stop_signals(sigset_t* stop) {
    sigemptyset(stop);
    sigaddset(stop, SIGTERM);
    sigaddset(stop, SIGINT);
    sigprocmask(SIG_BLOCK, stop, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, &options)) {
        std::fprintf(stderr, "usage: gpuhog [--once] SIZE   (3GiB, 512MiB, bytes, or 0)\n");
        return kUsageStatus;
    }
    sigset_t stop;
    block_stop_signals(&stop);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    int count = 0;
    if (!check("cuInit", cuInit(0))) return 1;
    if (!check("cuDeviceGetCount", cuDeviceGetCount(&count))) return 1;
    std::printf("devices: %d\n", count);
    for (int i = 0; i < count; i++) {
        if (!print_device(i)) return 1;
    }
    if (!take(options.bytes)) return 1;
    if (options.once) return 0;

    std::printf("holding until SIGTERM\n");
    int signal_number = 0;
    sigwait(&stop, &signal_number);
    std::printf("stopped by signal %d\n", signal_number);
    return 0;
}

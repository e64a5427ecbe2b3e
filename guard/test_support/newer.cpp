// Asks a future driver (gpusim/cuda/driver/newer.h) for functions that the guard does not know and
// for ones that it does, and uses both. Prints the results.
#include "gpusim/cuda/driver/newer.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr size_t k2GiB = size_t{2} << 30;
constexpr char kKernel[] =
    "//gpusim nothing block_ns=1000\n"
    ".version 6.0\n"
    ".target sm_60\n"
    ".address_size 64\n"
    ".visible .entry nothing()\n"
    "{\n"
    "    ret;\n"
    "}\n";

void* library = nullptr;

template <typename Function>
Function by_name(const char* symbol) {
    return reinterpret_cast<Function>(dlsym(library, symbol));
}

// Prints the function's owner: the guard, or the driver by the function's own name.
template <typename Function>
Function by_cuda(const char* name, int version) {
    void* function = nullptr;
    const auto ask = by_name<decltype(&cuGetProcAddress_v2)>("cuGetProcAddress_v2");
    ask(name, &function, version, 0, nullptr);
    Dl_info about = {};
    const bool is_there = function != nullptr && dladdr(function, &about) != 0;
    const bool is_guards = is_there && std::strstr(about.dli_fname, "tessera-guard") != nullptr;
    const char* own = is_there && about.dli_sname != nullptr ? about.dli_sname : "nothing";
    std::printf("%s %d: %s\n", name, version, is_guards ? "the guard's" : own);
    return reinterpret_cast<Function>(function);
}

void say(const char* what, CUresult result) {
    std::printf("%s: %d\n", what, result);
}

void use_memory() {
    CUdeviceptr pointer = 0;
    const auto today = by_cuda<decltype(&cuMemAlloc_v2)>("cuMemAlloc", 12080);
    const auto tomorrow = by_cuda<decltype(&cuMemAlloc_v3)>("cuMemAlloc", GPUSIM_NEWER_VERSION);
    say("2 GiB as today", today(&pointer, k2GiB));
    say("2 GiB as tomorrow", tomorrow(&pointer, k2GiB, 0));
    say("freed as today", by_name<decltype(&cuMemFree_v2)>("cuMemFree_v2")(pointer));
    say("1 GiB as today", today(&pointer, k2GiB / 2));
}

void use_kernels() {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
    by_name<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, kKernel);
    by_name<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&kernel, module, "nothing");
    const auto today = by_cuda<decltype(&cuLaunchKernel)>("cuLaunchKernel", 12080);
    const auto tomorrow =
        by_cuda<decltype(&cuLaunchKernel_v2)>("cuLaunchKernel", GPUSIM_NEWER_VERSION);
    say("launched as today", today(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    say("launched as tomorrow", tomorrow(&config, kernel, nullptr, 0));
    say("waited for", by_name<decltype(&cuCtxSynchronize)>("cuCtxSynchronize")());
}

void use_what_is_new() {
    int answer = 0;
    by_cuda<decltype(&cuTomorrowDo)>("cuTomorrowDo", GPUSIM_NEWER_VERSION)(&answer);
    std::printf("answer %d\n", answer);
    answer = 0;
    by_name<decltype(&cuTomorrowDo)>("cuTomorrowDo")(&answer);
    std::printf("answer %d\n", answer);
}

}  // namespace

int main() {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return 1;
    int version = 0;
    CUcontext context = nullptr;
    by_name<decltype(&cuDriverGetVersion)>("cuDriverGetVersion")(&version);
    std::printf("version %d\n", version);
    say("begun", by_name<decltype(&cuInit)>("cuInit")(0));
    say("in a context", by_name<decltype(&cuCtxCreate_v2)>("cuCtxCreate_v2")(&context, 0, 0));
    use_memory();
    use_kernels();
    use_what_is_new();
    return 0;
}

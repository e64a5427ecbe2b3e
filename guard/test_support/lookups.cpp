// Asks for every hooked entry point by every way there is, and prints whose function came back:
// SYMBOL WAY LIBRARY, a line each. The file names of the driver's library and of NVML's are the
// arguments.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "api/nvidia/cuda.h"
#include "api/nvidia/nvml.h"

namespace {

const char* library_of(void* function) {
    Dl_info about = {};
    if (function == nullptr || dladdr(function, &about) == 0) return "nobody";
    const char* slash = std::strrchr(about.dli_fname, '/');
    return slash != nullptr ? slash + 1 : about.dli_fname;
}

void print(const char* symbol, const char* way, void* function) {
    std::printf("%s %s %s\n", symbol, way, library_of(function));
}

void* by_cuda(const char* name, int version, int flags) {
    void* function = nullptr;
    cuGetProcAddress(name, &function, version, static_cast<cuuint64_t>(flags));
    return function;
}

void* by_cuda_2(const char* name, int version, int flags) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    cuGetProcAddress_v2(name, &function, version, static_cast<cuuint64_t>(flags), &status);
    return status == CU_GET_PROC_ADDRESS_SUCCESS ? function : nullptr;
}

// `path` is the library's file, `soname` its name.
void look_up(const char* path, const char* soname, const char* symbol, void* linked) {
    void* by_name = dlopen(soname, RTLD_LAZY);
    print(symbol, "linked", linked);
    print(symbol, "dlopen-by-name", dlsym(by_name, symbol));
    print(symbol, "dlopen-by-path", dlsym(dlopen(path, RTLD_LAZY | RTLD_LOCAL), symbol));
    print(symbol, "dlvsym", dlvsym(by_name, symbol, "VERSION_1"));
    dlerror();
    print(symbol, "default", dlsym(RTLD_DEFAULT, symbol));
    if (dlerror() != nullptr) std::printf("%s default an-error-was-left\n", symbol);
    print(symbol, "next", dlsym(RTLD_NEXT, symbol));
    print(symbol, "whole-program", dlsym(dlopen(nullptr, RTLD_LAZY), symbol));
}

void look_up_by_cuda(const char* symbol, const char* name, int version) {
    print(symbol, "cuGetProcAddress", by_cuda(name, version, CU_GET_PROC_ADDRESS_DEFAULT));
    print(symbol, "cuGetProcAddress_v2", by_cuda_2(name, version, CU_GET_PROC_ADDRESS_DEFAULT));
    print(symbol, "legacy-stream", by_cuda_2(name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
}

}  // namespace

int main(int, char** arguments) {
    void* cuda_apart = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_LAZY);
    void* nvml_apart = dlmopen(LM_ID_NEWLM, arguments[2], RTLD_LAZY);
#define HOOK(symbol, name, since)                                                     \
    look_up(arguments[1], "libcuda.so.1", #symbol, reinterpret_cast<void*>(&symbol)); \
    print(#symbol, "dlmopen", dlsym(cuda_apart, #symbol));                            \
    look_up_by_cuda(#symbol, #name, since);
#include "guard/entrypoints.def"
#undef HOOK
#define NVML_HOOK(symbol)                                                                  \
    look_up(arguments[2], "libnvidia-ml.so.1", #symbol, reinterpret_cast<void*>(&symbol)); \
    print(#symbol, "dlmopen", dlsym(nvml_apart, #symbol));
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    // What is nobody's business but libc's and the driver's.
    void* driver = dlopen(arguments[1], RTLD_LAZY);
    print("cuDriverGetVersion", "dlopen-by-path", dlsym(driver, "cuDriverGetVersion"));
    print("cuNothing", "dlopen-by-path", dlsym(driver, "cuNothing"));
    std::printf("error %s\n", dlerror() != nullptr ? "said" : "none");
    print("malloc", "next", dlsym(RTLD_NEXT, "malloc"));
    return 0;
}

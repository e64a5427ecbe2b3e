// Asks for every hooked entry point by every way there is, and prints whose function came back:
// SYMBOL WAY LIBRARY, a line each. The file name of the driver's library is the argument.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "api/nvidia/cuda.h"

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

void look_up(const char* path, const char* symbol, const char* name, int version, void* linked) {
    void* by_name = dlopen("libcuda.so.1", RTLD_LAZY);
    void* by_path = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    print(symbol, "linked", linked);
    print(symbol, "dlopen-by-name", dlsym(by_name, symbol));
    print(symbol, "dlopen-by-path", dlsym(by_path, symbol));
    static void* const apart = dlmopen(LM_ID_NEWLM, path, RTLD_LAZY);
    print(symbol, "dlmopen", dlsym(apart, symbol));
    print(symbol, "dlvsym", dlvsym(by_name, symbol, "LIBCUDA_1"));
    dlerror();
    print(symbol, "default", dlsym(RTLD_DEFAULT, symbol));
    if (dlerror() != nullptr) std::printf("%s default an-error-was-left\n", symbol);
    print(symbol, "next", dlsym(RTLD_NEXT, symbol));
    print(symbol, "whole-program", dlsym(dlopen(nullptr, RTLD_LAZY), symbol));
    print(symbol, "cuGetProcAddress", by_cuda(name, version, CU_GET_PROC_ADDRESS_DEFAULT));
    print(symbol, "cuGetProcAddress_v2", by_cuda_2(name, version, CU_GET_PROC_ADDRESS_DEFAULT));
    print(symbol, "legacy-stream", by_cuda_2(name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
}

}  // namespace

int main(int, char** arguments) {
#define HOOK(symbol, name, since) \
    look_up(arguments[1], #symbol, #name, since, reinterpret_cast<void*>(&symbol));
#include "guard/entrypoints.def"
#undef HOOK
    // What is nobody's business but libc's and the driver's.
    void* driver = dlopen(arguments[1], RTLD_LAZY);
    print("cuDriverGetVersion", "dlopen-by-path", dlsym(driver, "cuDriverGetVersion"));
    print("cuNothing", "dlopen-by-path", dlsym(driver, "cuNothing"));
    std::printf("error %s\n", dlerror() != nullptr ? "said" : "none");
    print("malloc", "next", dlsym(RTLD_NEXT, "malloc"));
    return 0;
}

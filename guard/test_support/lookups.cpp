// Looks up every hooked entry point in every possible way, and prints which library's function it
// got: SYMBOL WAY LIBRARY, one per line. The arguments are the file names of the driver's library
// and of NVML's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "api/nvidia/cuda.h"
#include "api/nvidia/nvml.h"

namespace {

const char* library_of(void* function) {
    Dl_info about = {};
    if (function == nullptr || dladdr(function, &about) == 0) return "nothing";
    const char* slash = std::strrchr(about.dli_fname, '/');
    return slash != nullptr ? slash + 1 : about.dli_fname;
}

void print(const char* symbol, const char* way, void* function) {
    std::printf("%s %s %s\n", symbol, way, library_of(function));
}

// Also reports a function of the same library that is not the one that the program was linked
// against. Functions from dlmopen, for example, are of another library.
void print_same(const char* symbol, const char* way, void* function, void* linked) {
    const char* library = library_of(function);
    const bool is_another = function != linked && std::strcmp(library, library_of(linked)) == 0;
    if (is_another) std::printf("%s %s another-function\n", symbol, way);
    if (!is_another) print(symbol, way, function);
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

using Dlsym = void* (*)(void*, const char*);
constexpr char kLibc[] = "libc.so.6";  // has dlsym from glibc 2.34 on

// The ways to get around an interposed dlsym.
void look_up_lookup() {
    void* libc = dlopen(kLibc, RTLD_LAZY);
    for (const char* symbol : {"dlsym", "dlvsym"}) {
        print(symbol, "handle", dlsym(libc, symbol));
        print(symbol, "next", dlsym(RTLD_NEXT, symbol));
        print(symbol, "dlvsym", dlvsym(libc, symbol, "GLIBC_2.34"));
        print(symbol, "dlvsym-next", dlvsym(RTLD_NEXT, symbol, "GLIBC_2.34"));
    }
}

struct Question {
    const char* symbol;
    void* linked;
    const char* name;
    int version;
    int flags;
};

// `path` is the library's file, `soname` its name.
void look_up(const char* path, const char* soname, const char* symbol, void* linked) {
    void* by_name = dlopen(soname, RTLD_LAZY);
    print(symbol, "linked", linked);
    print_same(symbol, "dlopen-by-name", dlsym(by_name, symbol), linked);
    void* by_path = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    print_same(symbol, "dlopen-by-path", dlsym(by_path, symbol), linked);
    print(symbol, "dlvsym", dlvsym(by_name, symbol, "VERSION_1"));
    dlerror();
    print_same(symbol, "default", dlsym(RTLD_DEFAULT, symbol), linked);
    if (dlerror() != nullptr) std::printf("%s default an-error-was-left\n", symbol);
    print_same(symbol, "next", dlsym(RTLD_NEXT, symbol), linked);
    print_same(symbol, "whole-program", dlsym(dlopen(nullptr, RTLD_LAZY), symbol), linked);
    const auto of_libc = reinterpret_cast<Dlsym>(dlsym(dlopen(kLibc, RTLD_LAZY), "dlsym"));
    print_same(symbol, "dlsym-of-libc", of_libc(by_name, symbol), linked);
}

void look_up_by_cuda(const Question& question) {
    const auto& [symbol, linked, name, version, flags] = question;
    const int other_flags =
        flags == CU_GET_PROC_ADDRESS_DEFAULT ? int{CU_GET_PROC_ADDRESS_LEGACY_STREAM} : flags;
    print_same(symbol, "cuGetProcAddress", by_cuda(name, version, flags), linked);
    print_same(symbol, "cuGetProcAddress_v2", by_cuda_2(name, version, flags), linked);
    print_same(symbol, "other-flags", by_cuda_2(name, version, other_flags), linked);
}

}  // namespace

int main(int, char** arguments) {
    void* cuda_apart = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_LAZY);
    void* nvml_apart = dlmopen(LM_ID_NEWLM, arguments[2], RTLD_LAZY);
#define ASK(symbol, name, since, flags)                                               \
    look_up(arguments[1], "libcuda.so.1", #symbol, reinterpret_cast<void*>(&symbol)); \
    print(#symbol, "dlmopen", dlsym(cuda_apart, #symbol));                            \
    look_up_by_cuda({#symbol, reinterpret_cast<void*>(&symbol), #name, since, flags});
#define HOOK(symbol, name, since) ASK(symbol, name, since, CU_GET_PROC_ADDRESS_DEFAULT)
#define PER_THREAD_HOOK(symbol, name, since) \
    ASK(symbol, name, since, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
#include "guard/entrypoints.def"
#undef HOOK
#undef ASK
#define NVML_HOOK(symbol)                                                                  \
    look_up(arguments[2], "libnvidia-ml.so.1", #symbol, reinterpret_cast<void*>(&symbol)); \
    print(#symbol, "dlmopen", dlsym(nvml_apart, #symbol));
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    // Functions that are not hooked must come from libc and the driver.
    void* driver = dlopen(arguments[1], RTLD_LAZY);
    print("cuDriverGetVersion", "dlopen-by-path", dlsym(driver, "cuDriverGetVersion"));
    print("cuNothing", "dlopen-by-path", dlsym(driver, "cuNothing"));
    std::printf("error %s\n", dlerror() != nullptr ? "said" : "none");
    print("malloc", "next", dlsym(RTLD_NEXT, "malloc"));
    look_up_lookup();
    return 0;
}

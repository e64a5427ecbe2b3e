// A static program. No dynamic loader runs for it, so nothing is preloaded:
//
//     guard_attack_static dlopen|own-loader DRIVER
//
// Like guard_attack, it prints "done" when it has taken what it could get, and keeps that until its
// input ends.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api/nvidia/cuda.h"
#include "guard/attacks/elf_image.hpp"
#include "guard/attacks/static_imports.h"

namespace {

// libc's own dlopen, which loads a dynamic loader and a second libc into the static program.
const char* take_by_dlopen(const char* path) {
    void* driver = dlopen(path, RTLD_NOW);
    if (driver == nullptr) return dlerror();
    const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(driver, "cuInit"));
    const auto create =
        reinterpret_cast<decltype(&cuCtxCreate_v2)>(dlsym(driver, "cuCtxCreate_v2"));
    const auto alloc = reinterpret_cast<decltype(&cuMemAlloc_v2)>(dlsym(driver, "cuMemAlloc_v2"));
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    if (init(0) != CUDA_SUCCESS || create(&context, 0, 0) != CUDA_SUCCESS) return "no context";
    for (int i = 0; i < 4; i++)
        alloc(&pointer, std::size_t{512} << 20);
    return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const bool by_dlopen = std::strcmp(arguments[1], "dlopen") == 0;
    const char* error = by_dlopen
                            ? take_by_dlopen(arguments[2])
                            : tessera::attacks::take_by_own_loader(arguments[2], static_import);
    if (error != nullptr) {
        std::fprintf(stderr, "no attack: %s\n", error);
        return 3;
    }
    std::printf("done\n");
    std::fflush(stdout);
    std::getchar();
    _exit(0);
}

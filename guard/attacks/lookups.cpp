// Attacks by the way in which a function of the driver is found.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "guard/attacks/attack.hpp"

namespace tessera::attacks {

void dlsym_handle() {
    begin();
    take(CUDA(cuMemAlloc_v2));
}
void dlsym_default() {
    begin();
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    take(as_alloc(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")));
}
void dlsym_next() {
    begin();
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    take(as_alloc(dlsym(RTLD_NEXT, "cuMemAlloc_v2")));
}
void dlsym_of_libc() {
    begin();
    void* libc = dlopen("libc.so.6", RTLD_NOW);
    const auto own = reinterpret_cast<decltype(&dlsym)>(dlsym(libc, "dlsym"));
    take(as_alloc(own(library, "cuMemAlloc_v2")));
}

void full_path() {
    load();
    load(driver_path().c_str());
    enter();
    take(CUDA(cuMemAlloc_v2));
}
void copied_driver() {
    load();
    const std::string path = driver_path();
    const std::string state = path.substr(0, path.rfind('/')) + "/gpusim";
    setenv("GPUSIM_DIR", state.c_str(), 1);
    const std::string copy = temporary("copied-driver.so");
    if (std::system(("cp " + path + " " + copy).c_str()) != 0) give_up("no copy");
    load(copy.c_str());
    unlink(copy.c_str());
    enter();
    take(CUDA(cuMemAlloc_v2));
}
void dlmopen_handle() {
    library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) give_up(dlerror());
    enter();
    take(CUDA(cuMemAlloc_v2));
}

template <typename Ask>
void take_by(const Ask& ask) {
    for (const int version : {3020, 12080, 13000, 13050}) {
        for (const cuuint64_t flags : {0, 1, 2}) {
            void* function = nullptr;
            ask("cuMemAlloc", &function, version, flags);
            take(as_alloc(function));
        }
    }
}
void proc_address() {
    begin();
    take_by(CUDA(cuGetProcAddress));
}
void proc_address_v2() {
    begin();
    void* found = nullptr;
    CUDA(cuGetProcAddress_v2)("cuGetProcAddress", &found, 12080, 0, nullptr);
    const auto ask = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(found);
    take_by([ask](const char* name, void** function, int version, cuuint64_t flags) {
        ask(name, function, version, flags, nullptr);
    });
}

void newer_names() {
    begin();
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    void* found = nullptr;
    CUDA(cuGetProcAddress_v2)("cuMemGetMemPool", &found, 13000, 0, nullptr);
    if (found == nullptr) return;
    CUmemoryPool pool = nullptr;
    reinterpret_cast<decltype(&cuMemGetMemPool)>(found)(&pool, &device,
                                                        CU_MEM_ALLOCATION_TYPE_PINNED);
    take_from(pool);
}

void symbol_walk() {
    begin();
    take(as_alloc(walk(map_of(library), "cuMemAlloc_v2")));
}
void symbol_walk_from_map() {
    library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) give_up(dlerror());
    const link_map* map = map_of(library);
    CUcontext context = nullptr;
    reinterpret_cast<decltype(&cuInit)>(walk(map, "cuInit"))(0);
    reinterpret_cast<decltype(&cuCtxCreate_v2)>(walk(map, "cuCtxCreate_v2"))(&context, 0, 0);
    take(as_alloc(walk(map, "cuMemAlloc_v2")));
}

}  // namespace tessera::attacks

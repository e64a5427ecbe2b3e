// A library for LD_PRELOAD, which comes before the guard. Its dlsym returns the driver's own
// functions.
#include <dlfcn.h>

#include "guard/attacks/symbols.hpp"

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
    const link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return nullptr;
    return tessera::attacks::walk(map, name);
}

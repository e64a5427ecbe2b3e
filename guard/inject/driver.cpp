#include "guard/inject/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "guard/inject/elf.hpp"
#include "guard/inject/libc_floor.hpp"

namespace tessera::guard {
namespace {

// In the driver's place stands our facade, and the driver goes by another name; or there is no
// facade, and it has its own.
constexpr const char* kNames[] = {"libtessera-real-cuda.so.1", "libcuda.so.1"};

constinit Driver found;
constinit std::atomic<bool> is_found = false;
constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void* loaded_driver() {
    if (dlopen == nullptr) return nullptr;
    for (const char* name : kNames) {
        if (void* handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD); handle != nullptr) return handle;
    }
    return nullptr;
}

void read_driver(const Object& object) {
#define HOOK(symbol, name, since) found.symbol.set(find_function(object, #symbol));
#include "guard/entrypoints.def"
#undef HOOK
    found.cuCtxGetCurrent.set(find_function(object, "cuCtxGetCurrent"));
    found.cuCtxGetDevice.set(find_function(object, "cuCtxGetDevice"));
    found.cuDeviceGetUuid.set(find_function(object, "cuDeviceGetUuid"));
    found.cuDevicePrimaryCtxGetState.set(find_function(object, "cuDevicePrimaryCtxGetState"));
}

}  // namespace

const Driver* driver() {
    if (is_found.load(std::memory_order_acquire)) return &found;
    pthread_mutex_lock(&mutex);
    if (!is_found.load(std::memory_order_relaxed)) {
        void* handle = loaded_driver();
        // A program that was linked against it, and found our functions before its own.
        if (handle == nullptr && dlopen != nullptr) handle = dlopen("libcuda.so.1", RTLD_LAZY);
        if (handle != nullptr) {
            read_driver(object_of(handle));
            is_found.store(true, std::memory_order_release);
        }
    }
    pthread_mutex_unlock(&mutex);
    return is_found.load(std::memory_order_acquire) ? &found : nullptr;
}

bool is_driver_loaded() {
    return is_found.load(std::memory_order_acquire) || loaded_driver() != nullptr;
}

}  // namespace tessera::guard

#include "guard/inject/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "guard/inject/elf.hpp"
#include "guard/inject/libc_floor.hpp"

namespace tessera::guard {
namespace {

// The driver, and the facade in its place too; but that has no code.
constexpr char kName[] = "libcuda.so.1";

constinit Driver found;
constinit std::atomic<bool> is_found = false;
constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

Driver read_driver(const Object& object) {
    Driver driver;
#define HOOK(symbol, name, since) driver.symbol.set(find_function(object, #symbol));
#include "guard/entrypoints.def"
#undef HOOK
#define NEEDED(symbol) driver.symbol.set(find_function(object, #symbol));
#include "guard/inject/needed.def"
#undef NEEDED
    return driver;
}

// It must not go away again: we keep addresses in it.
void pin(const Driver& driver) {
    Dl_info about = {};
    if (dladdr(driver.cuInit.address(), &about) == 0) return;
    dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// No lock of ours is held while the loader works: a library that is being loaded may call us while
// it holds the loader's.
void find_driver() {
    Object object = find_loaded(kName, "cuInit");
    if (dlopen == nullptr || dladdr == nullptr) return;
    // A program that was linked against it, and found our functions before its own.
    if (!object && dlopen(kName, RTLD_LAZY) != nullptr) object = find_loaded(kName, "cuInit");
    if (!object) return;
    const Driver driver = read_driver(object);
    // Not a whole one: hooks would be lost without these.
    if (!driver.cuCtxGetCurrent || !driver.cuCtxGetDevice || !driver.cuDeviceGetUuid) return;
    pin(driver);
    pthread_mutex_lock(&mutex);
    if (!is_found.load(std::memory_order_relaxed)) found = driver;
    is_found.store(true, std::memory_order_release);
    pthread_mutex_unlock(&mutex);
}

}  // namespace

const Driver* driver() {
    if (!is_found.load(std::memory_order_acquire)) find_driver();
    return is_found.load(std::memory_order_acquire) ? &found : nullptr;
}

const Driver& known_driver() {
    return found;
}

bool is_driver_loaded() {
    return is_found.load(std::memory_order_acquire) || find_loaded(kName, "cuInit");
}

}  // namespace tessera::guard

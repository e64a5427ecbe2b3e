#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

Driver read_driver(const Object& library) {
    Driver driver;
#define HOOK(symbol, name, since) driver.symbol.set(find_function(library, #symbol));
#include "guard/entrypoints.def"
#undef HOOK
    driver.cuCtxGetCurrent.set(find_function(library, "cuCtxGetCurrent"));
    driver.cuCtxGetDevice.set(find_function(library, "cuCtxGetDevice"));
    driver.cuDeviceGetUuid.set(find_function(library, "cuDeviceGetUuid"));
    driver.cuDevicePrimaryCtxGetState.set(find_function(library, "cuDevicePrimaryCtxGetState"));
    return driver;
}

constinit Library<Driver> library("libcuda.so.1", "cuInit", read_driver);

}  // namespace

const Driver* driver() {
    return library.get();
}

}  // namespace tessera::guard

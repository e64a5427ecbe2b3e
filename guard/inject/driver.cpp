#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

Driver read_driver(const LoadedObject& library) {
    Driver driver;
#define HOOK(symbol, name, since) driver.symbol.set(find_function(library, #symbol));
#include "guard/entrypoints.def"
#undef HOOK
#define NEEDED(symbol) driver.symbol.set(find_function(library, #symbol));
#include "guard/inject/needed.def"
#undef NEEDED
    return driver;
}

constinit Library<Driver> library("libcuda.so.1", "cuInit", read_driver);

}  // namespace

const Driver* driver() {
    return library.get();
}

}  // namespace tessera::guard

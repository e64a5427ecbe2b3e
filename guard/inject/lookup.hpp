// From a function of the driver to the guard's own.
#pragma once

namespace tessera::guard {

// The guard's hook for this function of the driver; the function itself if there is none.
void* hook_of(void* function);
// The guard's function for a symbol, and the soname of the library that has the symbol.
struct Hook {
    void* function = nullptr;
    const char* library = nullptr;

    explicit operator bool() const { return function != nullptr; }
};
// False if there is no hook of that name.
Hook hook_named(const char* symbol);

}  // namespace tessera::guard

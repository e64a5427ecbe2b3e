// From a function of the driver's to the guard's own.
#pragma once

namespace tessera::guard {

// The guard's function that stands before this one of the driver's; the same where none does.
void* hook_before(void* function);
// The guard's function of a symbol, and the soname of the library that has the symbol.
struct Hook {
    void* function = nullptr;
    const char* library = nullptr;

    explicit operator bool() const { return function != nullptr; }
};
// False where it hooks none of that name.
Hook hook_named(const char* symbol);

}  // namespace tessera::guard

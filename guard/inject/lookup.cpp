// Answers cuGetProcAddress. The driver chooses the function by name, version and flags, and its
// choice is replaced if the guard hooks it. So a caller gets the signature that it requested, and a
// driver that is newer than the guard still answers for its own functions.
#include "guard/inject/lookup.hpp"

#include "api/nvidia/nvml.h"
#include "guard/inject/driver.hpp"
#include "guard/inject/same_text.hpp"

namespace tessera::guard {

void* hook_of(void* function) {
    const Driver* real = driver();
    if (real == nullptr || function == nullptr) return function;
#define HOOK(symbol, name, since) \
    if (real->symbol.address() == function) return reinterpret_cast<void*>(&::symbol);
#include "guard/entrypoints.def"
#undef HOOK
    return function;
}

Hook hook_named(const char* symbol) {
    const bool may_be =
        (symbol[0] == 'c' && symbol[1] == 'u') || (symbol[0] == 'n' && symbol[1] == 'v');
    if (!may_be) return {};
#define EXPORT(hooked, library) \
    if (same_text(symbol, #hooked)) return {reinterpret_cast<void*>(&::hooked), library};
#include "guard/exports.def"
#undef EXPORT
    return {};
}

}  // namespace tessera::guard

using tessera::guard::Driver;
using tessera::guard::driver;
using tessera::guard::hook_of;

CUresult cuGetProcAddress(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
    const Driver* real = driver();
    if (real == nullptr || !real->cuGetProcAddress) return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real->cuGetProcAddress(symbol, function, cuda_version, flags);
    if (result == CUDA_SUCCESS && function != nullptr) *function = hook_of(*function);
    return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int cuda_version,
                             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    const Driver* real = driver();
    if (real == nullptr || !real->cuGetProcAddress_v2) return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result =
        real->cuGetProcAddress_v2(symbol, function, cuda_version, flags, status);
    if (result == CUDA_SUCCESS && function != nullptr) *function = hook_of(*function);
    return result;
}

// Modules and libraries: code and variables. No driver says what one takes. What its image declares
// is set aside first; what the card has less afterwards, if that is more, is what counts.
//
// The card has less also where a neighbour took memory at that moment. So what the container itself
// was given meanwhile is left out, and where the difference is large the module is loaded again,
// and the smaller of the two counts. Too much is counted only where neighbours came twice, and
// until the module is unloaded; never less than was declared.
#include "guard/hooks/module_size.hpp"
#include "guard/hooks/take.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/measured.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

// What the card has left and what the container holds of it, together: what neither neighbours nor
// loads change.
std::uint64_t unexplained(int card) {
    std::size_t free = 0;
    std::size_t total = 0;
    const auto& ask = driver()->cuMemGetInfo_v2;
    if (!ask || ask(&free, &total) != CUDA_SUCCESS) return 0;
    return free + held_now(card);
}

// Loads, and says by how much the card has less, as far as that is not explained.
template <typename Load>
CUresult measure(int card, const Load& load, std::uint64_t& missing) {
    const std::uint64_t before = unexplained(card);
    const CUresult result = load();
    const std::uint64_t after = unexplained(card);
    missing = before > after ? before - after : 0;
    return result;
}

template <typename Handle, typename Load, typename Unload>
CUresult load_held(Handle* handle, const char* image, const Load& load, const Unload& unload) {
    Current current;
    // Libraries may be loaded without a context, and take nothing until they are used in one.
    if (handle == nullptr || find_current(current) != CUDA_SUCCESS) return load();
    const std::uint64_t declared = declared_bytes(image);
    std::uint64_t missing = 0;
    const auto load_measured = [&] {
        CUresult result = measure(current.card, load, missing);
        if (result != CUDA_SUCCESS || missing <= declared + kLargeDifference) return result;
        const std::uint64_t first = missing;
        unload();
        result = measure(current.card, load, missing);
        if (first < missing) missing = first;
        return result;
    };
    // A granule more or less may be one that other small allocations are in.
    const auto taken = [&] {
        const std::uint64_t bytes = missing > declared + kGranuleBytes ? missing : declared;
        return Taken{reinterpret_cast<std::uint64_t>(*handle), bytes};
    };
    return take_held(current, declared, load_measured, taken, unload);
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    const Entered real(&Driver::cuModuleLoad);
    if (!real.is_held()) return real(module, path);
    return load_held(
        module, nullptr, [&] { return real(module, path); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    const Entered real(&Driver::cuModuleLoadData);
    if (!real.is_held()) return real(module, image);
    return load_held(
        module, static_cast<const char*>(image), [&] { return real(module, image); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int option_count,
                            CUjit_option* options, void** option_values) {
    const Entered real(&Driver::cuModuleLoadDataEx);
    const auto load = [&] { return real(module, image, option_count, options, option_values); };
    if (!real.is_held()) return load();
    return load_held(module, static_cast<const char*>(image), load,
                     [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    const Entered real(&Driver::cuModuleLoadFatBinary);
    if (!real.is_held()) return real(module, image);
    return load_held(
        module, static_cast<const char*>(image), [&] { return real(module, image); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleUnload(CUmodule module) {
    const Entered real(&Driver::cuModuleUnload);
    if (!real.is_held()) return real(module);
    return give_held(reinterpret_cast<std::uint64_t>(module), [&] { return real(module); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                           void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                           void** values, unsigned int count) {
    const Entered real(&Driver::cuLibraryLoadData);
    const auto load = [&] {
        return real(library, code, jit_options, jit_values, jit_count, options, values, count);
    };
    if (!real.is_held()) return load();
    return load_held(library, static_cast<const char*>(code), load,
                     [&] { driver()->cuLibraryUnload(*library); });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options,
                               void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                               void** values, unsigned int count) {
    const Entered real(&Driver::cuLibraryLoadFromFile);
    const auto load = [&] {
        return real(library, path, jit_options, jit_values, jit_count, options, values, count);
    };
    if (!real.is_held()) return load();
    return load_held(library, nullptr, load, [&] { driver()->cuLibraryUnload(*library); });
}

CUresult cuLibraryUnload(CUlibrary library) {
    const Entered real(&Driver::cuLibraryUnload);
    if (!real.is_held()) return real(library);
    return give_held(reinterpret_cast<std::uint64_t>(library), [&] { return real(library); });
}

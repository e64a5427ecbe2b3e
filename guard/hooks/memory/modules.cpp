// Modules and libraries: code and variables. No driver reports what one takes. What its image
// declares is reserved first. If the GPU has less memory afterwards than that explains, the larger
// number is charged.
//
// A neighbour that took memory at that moment also leaves the GPU with less. So what the container
// itself was given meanwhile is subtracted. If the difference is large, the module is loaded again,
// and the smaller of the two numbers counts. Too much is charged only if neighbours interfered
// twice, and only until the module is unloaded; never less than was declared. What a driver loads
// lazily is charged with the module when it is loaded (process/driver_memory.hpp).
#include "guard/hooks/memory/module_size.hpp"
#include "guard/hooks/take.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/driver_memory.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

template <typename Handle, typename Load, typename Unload>
CUresult load_counted(Handle* handle, const char* image, const Load& load, const Unload& unload) {
    Current current;
    // Libraries may be loaded without a context, and take nothing until they are used in one.
    if (handle == nullptr || find_current(current) != CUDA_SUCCESS) return load();
    const std::uint64_t declared = ptx_global_bytes(image);
    std::uint64_t missing = 0;
    const auto load_measured = [&] {
        return measure_twice(current.gpu, declared, load, unload, missing);
    };
    // A difference of one allocation unit may be one that other small allocations share.
    const auto taken = [&] {
        const std::uint64_t bytes = missing > declared + kAllocationUnitBytes ? missing : declared;
        return Taken{reinterpret_cast<std::uint64_t>(*handle), bytes};
    };
    return take_counted(current, declared, load_measured, taken, unload);
}

template <typename Handle>
std::uint64_t address_of(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}

// Source of the constants: FNV-1a.
std::uint64_t key_of(std::uint64_t owner, const char* name) {
    std::uint64_t key = 0xcbf29ce484222325U ^ owner;
    for (; name != nullptr && *name != '\0'; name++)
        key = (key ^ static_cast<unsigned char>(*name)) * 0x100000001b3U;
    return key;
}

// Finds a function, for which the driver may load code. The first time for each `key`, that code is
// charged with the module or library at the address `owner`.
template <typename Find>
CUresult find_loading(std::uint64_t owner, std::uint64_t key, const Find& find) {
    if (is_used(key)) return find();
    FirstUse use;
    use.read();
    const CUresult result = find();
    if (result != CUDA_SUCCESS) return result;
    use.count(owner);
    note_used(key);
    return result;
}

// The handles of its functions may be used again from now on.
template <typename Function, typename Handle>
CUresult unload(Function Driver::* slot, Handle handle) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(handle);
    const CUresult result = give_counted(address_of(handle), [&] { return real(handle); });
    forget_all_used();
    return result;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    const Entered real(&Driver::cuModuleLoad);
    if (!real.must_enforce()) return real(module, path);
    return load_counted(
        module, nullptr, [&] { return real(module, path); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    const Entered real(&Driver::cuModuleLoadData);
    if (!real.must_enforce()) return real(module, image);
    return load_counted(
        module, static_cast<const char*>(image), [&] { return real(module, image); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int option_count,
                            CUjit_option* options, void** option_values) {
    const Entered real(&Driver::cuModuleLoadDataEx);
    const auto load = [&] { return real(module, image, option_count, options, option_values); };
    if (!real.must_enforce()) return load();
    return load_counted(module, static_cast<const char*>(image), load,
                        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    const Entered real(&Driver::cuModuleLoadFatBinary);
    if (!real.must_enforce()) return real(module, image);
    return load_counted(
        module, static_cast<const char*>(image), [&] { return real(module, image); },
        [&] { driver()->cuModuleUnload(*module); });
}

CUresult cuModuleUnload(CUmodule module) {
    return unload(&Driver::cuModuleUnload, module);
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    const Entered real(&Driver::cuModuleGetFunction);
    if (!real.must_enforce()) return real(function, module, name);
    const std::uint64_t owner = address_of(module);
    return find_loading(owner, key_of(owner, name), [&] { return real(function, module, name); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                           void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                           void** values, unsigned int count) {
    const Entered real(&Driver::cuLibraryLoadData);
    const auto load = [&] {
        return real(library, code, jit_options, jit_values, jit_count, options, values, count);
    };
    if (!real.must_enforce()) return load();
    return load_counted(library, static_cast<const char*>(code), load,
                        [&] { driver()->cuLibraryUnload(*library); });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options,
                               void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                               void** values, unsigned int count) {
    const Entered real(&Driver::cuLibraryLoadFromFile);
    const auto load = [&] {
        return real(library, path, jit_options, jit_values, jit_count, options, values, count);
    };
    if (!real.must_enforce()) return load();
    return load_counted(library, nullptr, load, [&] { driver()->cuLibraryUnload(*library); });
}

CUresult cuLibraryUnload(CUlibrary library) {
    return unload(&Driver::cuLibraryUnload, library);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    const Entered real(&Driver::cuLibraryGetModule);
    if (!real.must_enforce()) return real(module, library);
    const std::uint64_t owner = address_of(library);
    return find_loading(owner, owner, [&] { return real(module, library); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    const Entered real(&Driver::cuLibraryGetKernel);
    if (!real.must_enforce()) return real(kernel, library, name);
    const std::uint64_t owner = address_of(library);
    return find_loading(owner, key_of(owner, name), [&] { return real(kernel, library, name); });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    const Entered real(&Driver::cuKernelGetFunction);
    if (!real.must_enforce()) return real(function, kernel);
    CUlibrary library = nullptr;
    const auto& ask = driver()->cuKernelGetLibrary;
    if (!ask || is_used(address_of(kernel)) || ask(&library, kernel) != CUDA_SUCCESS)
        return real(function, kernel);
    return find_loading(address_of(library), key_of(address_of(kernel), "function"),
                        [&] { return real(function, kernel); });
}

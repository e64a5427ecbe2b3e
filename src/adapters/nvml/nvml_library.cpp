#include "adapters/nvml/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "adapters/os/driver_folders.hpp"

namespace tessera {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

Result<Nvml> resolve(void* library) {
    Nvml nvml;
    std::string missing;
#define NVML_SYMBOL(symbol)                                                         \
    nvml.symbol = reinterpret_cast<decltype(nvml.symbol)>(dlsym(library, #symbol)); \
    if (nvml.symbol == nullptr) missing += " " #symbol;
#define NVML_OPTIONAL(symbol) \
    nvml.symbol = reinterpret_cast<decltype(nvml.symbol)>(dlsym(library, #symbol));
#include "adapters/nvml/nvml_symbols.def"
#undef NVML_SYMBOL
#undef NVML_OPTIONAL
    if (missing.empty()) return nvml;
    return fail(Code::unsupported, "the driver's NVML is too old; it lacks" + missing);
}

}  // namespace

OpenNvml::~OpenNvml() {
    if (is_up_) nvml.nvmlShutdown();
    dlclose(library_);
}

Result<std::unique_ptr<OpenNvml>> OpenNvml::open(const std::string& driver_root,
                                                 const std::string& fix) {
    std::string searched;
    for (const char* folder : kDriverLibraryFolders) {
        const std::string path = in_driver_root(driver_root, folder) + "/" + kLibrary;
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            searched += "; " + std::string(dlerror());
            continue;
        }
        std::unique_ptr<OpenNvml> out(new OpenNvml(library));
        TRY(out->nvml, resolve(library));
        const nvmlReturn_t got = out->nvml.nvmlInit_v2();
        if (got != NVML_SUCCESS) {
            return fail(Code::unavailable,
                        fmt::format("{}: nvmlInit: {}", path, out->nvml.nvmlErrorString(got)));
        }
        out->is_up_ = true;
        return out;
    }
    return fail(Code::unavailable,
                fmt::format("no {} under {}: {}{}", kLibrary, driver_root, fix, searched));
}

}  // namespace tessera

// A driver's library in a test, real or simulated.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>

namespace gpusim {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Loaded as a program would load it; stays loaded until the process ends.
class Library {
  public:
    explicit Library(const std::filesystem::path& path)
        : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) throw std::runtime_error(dlerror());
    }

    void* find(const char* symbol) const {
        void* found = dlsym(handle_, symbol);
        if (found == nullptr) throw std::runtime_error(dlerror());
        return found;
    }
    bool has(const char* symbol) const { return dlsym(handle_, symbol) != nullptr; }

  private:
    void* handle_;
};

// CALL(library, cuInit)(0): looks the symbol up by its name, with the type that the header gives
// it.
#define CALL(library, symbol) reinterpret_cast<decltype(&::symbol)>((library).find(#symbol))

}  // namespace gpusim

// NVML, as found in the driver's library.
#pragma once

#include <memory>
#include <string>

#include "api/nvidia/nvml.h"
#include "base/result.hpp"

namespace tessera {

// The entry points that we call.
struct Nvml {
#define NVML_SYMBOL(name) decltype(&::name) name = nullptr;
#define NVML_OPTIONAL(name) decltype(&::name) name = nullptr;
#include "adapters/nvml/nvml_symbols.def"
#undef NVML_SYMBOL
#undef NVML_OPTIONAL
};

// A loaded library with NVML initialized; the destructor undoes both.
class OpenNvml {
  public:
    // `fix`: what to do if there is no library. Errors: unavailable, with the folders that were
    // searched or NVML's answer; unsupported.
    static Result<std::unique_ptr<OpenNvml>> open(const std::string& driver_root,
                                                  const std::string& fix);
    ~OpenNvml();
    OpenNvml(const OpenNvml&) = delete;
    OpenNvml& operator=(const OpenNvml&) = delete;

    Nvml nvml;

  private:
    explicit OpenNvml(void* library) : library_(library) {}
    void* library_;
    bool is_up_ = false;
};

}  // namespace tessera

// The driver itself: where its functions are that the guard stands before.
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

// Counts the calls into the driver that this thread is in. A driver may call itself by its public
// names, and so come back to our hooks: those are no calls of the program's.
class InDriver {
  public:
    InDriver() { depth++; }
    ~InDriver() { depth--; }
    InDriver(const InDriver&) = delete;
    InDriver& operator=(const InDriver&) = delete;

    static bool is_now() { return depth > 0; }

  private:
    static inline thread_local int depth = 0;
};

template <typename Function>
class DriverFunction;

// One function of the driver; false where this driver has none of that name.
template <typename... Arguments>
class DriverFunction<CUresult (*)(Arguments...)> {
  public:
    using Pointer = CUresult (*)(Arguments...);

    explicit operator bool() const { return function_ != nullptr; }
    CUresult operator()(Arguments... arguments) const {
        const InDriver scope;
        return function_(arguments...);
    }
    [[nodiscard]] void* address() const { return reinterpret_cast<void*>(function_); }
    void set(void* address) { function_ = reinterpret_cast<Pointer>(address); }

  private:
    Pointer function_ = nullptr;
};

struct Driver {
#define HOOK(symbol, name, since) DriverFunction<decltype(&::symbol)> symbol;
#include "guard/entrypoints.def"
#undef HOOK
    // Not hooked, but needed.
#define NEEDED(symbol) DriverFunction<decltype(&::symbol)> symbol;
#include "guard/inject/needed.def"
#undef NEEDED
};

// The driver of this process, loaded now if nobody has; null where there is none. Any thread.
const Driver* driver();
// The same, where it is known that there is one.
const Driver& known_driver();
// The same, but not loaded for this question.
bool is_driver_loaded();

}  // namespace tessera::guard

// Memory that the driver itself takes for what a program does: for modules, for executable graphs,
// for code that it loads when a function is first needed, and for the local memory of kernels. No
// driver reports how much. What can be computed is reserved before the call. For the rest the guard
// reads the GPU's free memory before and after the call, and charges the difference that nothing
// else explains. So all of it is in the container's accounts and within its limit, where the
// agent's comparison with NVML finds it.
//
// If a neighbour takes memory at that moment, it is counted too; if a neighbour releases some, that
// hides as much. If much memory is missing, a call that can be repeated is made again, and the
// smaller number counts. For a call that cannot be repeated, no more than kLargeDifference counts.
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include "guard/base/measured.hpp"
#include "guard/base/used_keys.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/devices.hpp"

namespace tessera::guard {

// The GPU's free memory plus what the container holds of it. It is the same before and after a call
// that takes nothing unexplained. 0 if the driver does not report free memory.
std::uint64_t unexplained(int gpu);
// Changes with every change of what the container holds of the GPU.
std::uint64_t account_version(int gpu);

struct Measured {
    std::uint64_t missing;
    bool is_certain;  // the account did not move
};

// Makes the call, and measures how much less memory the GPU has that nothing explains. If dead
// processes are reaped in between, the result is not certain.
template <typename Call>
CUresult measure(int gpu, const Call& call, Measured& measured) {
    const std::uint64_t version = account_version(gpu);
    const std::uint64_t before = unexplained(gpu);
    const CUresult result = call();
    const std::uint64_t after = unexplained(gpu);
    measured.missing = after != 0 && before > after ? before - after : 0;
    measured.is_certain = account_version(gpu) == version;
    return result;
}

// The same for a call that `undo` reverts. It is made again if much more than `expected` is
// missing.
template <typename Call, typename Undo>
CUresult measure_twice(int gpu, std::uint64_t expected, const Call& call, const Undo& undo,
                       std::uint64_t& missing) {
    Measured first = {};
    CUresult result = measure(gpu, call, first);
    missing = first.missing;
    if (result != CUDA_SUCCESS || missing <= expected + kLargeDifference) return result;
    undo();
    Measured second = {};
    result = measure(gpu, call, second);
    if (second.missing < missing) missing = second.missing;
    return result;
}

// Measures what the driver takes for the first launch of a function, or for its first lookup. The
// result counts only if the account did not move meanwhile. Otherwise memory that a process of the
// container releases, or that is reaped, would look like missing memory.
class FirstUse {
  public:
    FirstUse();
    // Reserves what the driver needs for the function's local memory: for each thread that the GPU
    // runs at once, until the context ends. CUDA_ERROR_OUT_OF_MEMORY if the limit does not allow
    // it.
    CUresult prepare(CUfunction function);
    // Reads the current GPU's memory. Call it immediately before the call to measure.
    void read();
    // The call has succeeded: what is missing beyond the reservation is charged to the module or
    // library at that address.
    void count(std::uint64_t owner) const;
    void count_with_module_of(CUfunction function) const;

  private:
    Current current_;
    bool is_in_context_ = false;
    std::uint64_t expected_ = 0;
    std::uint64_t version_ = 0;
    std::uint64_t before_ = 0;
};

}  // namespace tessera::guard

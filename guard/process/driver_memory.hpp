// Memory that the driver takes by itself for what a program has it do: for modules, for executable
// graphs, for code that it loads when a function is first needed, and for the local memory of
// kernels. No driver says how much. What can be computed is set aside before; else the GPU's free
// memory is read before and after, and what is missing counts as far as nothing else explains it.
// So all of it is in the container's accounts, within its limit: the agent's comparison with
// NVML finds it there.
//
// A neighbour that takes memory at that moment is counted too, and one that gives some back hides
// as much. Where a call can be made again it is, when much is missing, and the smaller number
// counts; of a call that cannot, no more than kLargeDifference counts.
//
// Any thread. All want begin() to have succeeded.
#pragma once

#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/devices.hpp"
#include "guard/process/measured.hpp"
#include "guard/process/seen.hpp"

namespace tessera::guard {

// What the card has left and what the container holds of it, together: neither neighbours nor calls
// change it. 0 where the driver does not say.
std::uint64_t unexplained(int card);
// It changes with every change of what the container holds of the card.
std::uint64_t account_version(int card);

struct Measured {
    std::uint64_t missing;
    bool is_certain;  // the account stood still
};

// Makes the call, and says by how much the card has less, as far as that is not explained. What
// dead processes held explains nothing when it is taken back in between: then it is not certain.
template <typename Call>
CUresult measure(int card, const Call& call, Measured& measured) {
    const std::uint64_t version = account_version(card);
    const std::uint64_t before = unexplained(card);
    const CUresult result = call();
    const std::uint64_t after = unexplained(card);
    measured.missing = after != 0 && before > after ? before - after : 0;
    measured.is_certain = account_version(card) == version;
    return result;
}

// The same of a call that `undo` undoes: it is made again where much more than `expected` is
// missing.
template <typename Call, typename Undo>
CUresult measure_twice(int card, std::uint64_t expected, const Call& call, const Undo& undo,
                       std::uint64_t& missing) {
    Measured first = {};
    CUresult result = measure(card, call, first);
    missing = first.missing;
    if (result != CUDA_SUCCESS || missing <= expected + kLargeDifference) return result;
    undo();
    Measured second = {};
    result = measure(card, call, second);
    if (second.missing < missing) missing = second.missing;
    return result;
}

// Around the first launch of a function, or the first look-up of one: what the driver takes by it.
// It counts where the account stood still meanwhile: what a neighbour of the container gives back,
// or the dead are found to have left, would look like memory that is missing.
class FirstUse {
  public:
    FirstUse();
    // Sets aside what the driver needs for the function's local memory: for each thread that the
    // card runs at once, until the context ends. CUDA_ERROR_OUT_OF_MEMORY where the limit forbids
    // that.
    CUresult prepare(CUfunction function);
    // Reads what the current card has: just before the call.
    void read();
    // The call has succeeded: what is missing beyond what was set aside counts with the module or
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

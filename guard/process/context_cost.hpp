// The memory that a context itself takes of a GPU. Only the driver knows it, and no call returns
// it. So the guard reads the GPU's used memory before and after the context is created, and
// subtracts what the container itself was given meanwhile. NVML reports used memory without a
// context.
//
// A reading is also wrong if a neighbour took or released memory at that moment. And while another
// process of the container takes or releases memory, the account is ahead of the GPU or behind it.
// So a reading during which the account moved is not certain. The container's first context of a
// kind is measured while no other process measures (first_cost.hpp). If it takes 32 MiB more than
// expected, it is measured again, and the smaller value counts. That value is what each later
// context of its kind is expected to take. A later one counts for at least that, and for more if it
// differs by no more than 32 MiB. The first context of each kind is expected to take what contexts
// of other kinds took.
#pragma once

#include <cstdint>

#include "guard/process/process.hpp"

namespace tessera::guard {

// A kind of context on a GPU; `kind` is less than kContextKinds.
struct ContextOf {
    int gpu;
    int kind;
};
// `has_more`: the context is created with more parameters than flags.
int context_kind_of(unsigned flags, bool has_more);

class ContextCost {
  public:
    // Takes the first reading, if there is an NVML that knows the GPU.
    explicit ContextCost(int gpu);
    ~ContextCost();
    ContextCost(const ContextCost&) = delete;
    ContextCost& operator=(const ContextCost&) = delete;

    struct Taken {
        bool is_measured;
        bool is_certain;  // the account did not move
        std::uint64_t bytes;
    };
    // What the context took that was created since the constructor.
    [[nodiscard]] Taken taken() const;

  private:
    struct Reading {
        std::uint64_t version;  // of the account
        std::int64_t bytes;     // what the GPU has given that the container does not account for
    };
    // False if NVML does not report it.
    bool read(Reading& reading) const;

    int gpu_;
    bool has_begun_ = false;
    bool is_measured_ = false;
    void* device_ = nullptr;
    Reading before_ = {};
};

// What one context counts for: from one reading, or from several if it is the first of its kind.
class ContextCosts {
  public:
    ContextCosts(ContextOf of, std::uint64_t expected);
    // Whether the readings suffice. If not, create the context once more.
    bool add(const ContextCost::Taken& taken);
    // Also records the result for later contexts, if this is the first of its kind.
    [[nodiscard]] std::uint64_t counted() const;

  private:
    static constexpr int kMostReadings = 6;

    ContextOf of_;
    std::uint64_t expected_;
    bool is_known_;  // whether the container's first context of this kind has been measured; this
                     // may be the first
    int readings_ = 0;
    int certain_ = 0;
    std::uint64_t least_certain_ = 0;
    std::uint64_t most_ = 0;
};

// Creates a context with `make`, and returns its error if it fails; `undo` destroys the context
// again. `bytes` is the expected size, and on return the size that is charged.
template <typename Make, typename Undo>
CUresult make_measured(ContextOf of, const Make& make, const Undo& undo, std::uint64_t& bytes) {
    ContextCosts costs(of, bytes);
    for (;;) {
        const ContextCost cost(of.gpu);
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        if (costs.add(cost.taken())) break;
        undo();
    }
    bytes = costs.counted();
    return CUDA_SUCCESS;
}

}  // namespace tessera::guard

// What a context takes of a card by itself: only the driver knows, and says it to nobody. So the
// card's used memory is read before and after one is made, from NVML, which needs no context; and
// what the container itself was given meanwhile is left out.
//
// The card has more or less also where a neighbour took or gave memory at that moment, and what the
// account says is ahead of the card, or behind it, while another of the container takes or gives
// some. So a reading during which the account moved says nothing. The first of a container is
// measured alone (first_cost.hpp), and again where it takes 32 MiB more than expected: the smaller
// counts, and is what each later one of its kind is expected to take. A later one counts for that
// at least, and for more where it differs by no more than 32 MiB. The first of each kind is
// expected to take what those of other kinds did.
#pragma once

#include <cstdint>

#include "guard/process/process.hpp"

namespace tessera::guard {

// On a card; `kind` is less than kContextKinds.
struct ContextOf {
    int card;
    int kind;
};
// `has_more`: it is made with more than flags.
int context_kind_of(unsigned flags, bool has_more);

class ContextCost {
  public:
    // Begins, where there is an NVML that knows the card.
    explicit ContextCost(int card);
    ~ContextCost();
    ContextCost(const ContextCost&) = delete;
    ContextCost& operator=(const ContextCost&) = delete;

    struct Taken {
        bool is_measured;
        bool is_certain;  // the account stood still
        std::uint64_t bytes;
    };
    // By the context that was made since.
    [[nodiscard]] Taken taken() const;

  private:
    struct Reading {
        std::uint64_t version;  // of the account
        std::int64_t bytes;  // that the card has given to whom the container does not account for
    };
    // False where NVML does not say.
    bool read(Reading& reading) const;

    int card_;
    bool has_begun_ = false;
    bool is_measured_ = false;
    void* device_ = nullptr;
    Reading before_ = {};
};

// What one context counts for, from one reading, or from some where it is the first.
class ContextCosts {
  public:
    ContextCosts(ContextOf of, std::uint64_t expected);
    // Whether that is enough. If not: make it once more.
    bool add(const ContextCost::Taken& taken);
    // Noted for those to come where it is the first.
    [[nodiscard]] std::uint64_t counted() const;

  private:
    static constexpr int kMostReadings = 6;

    ContextOf of_;
    std::uint64_t expected_;
    bool is_known_;  // what the container's first of its kind took; this may be that
    int readings_ = 0;
    int certain_ = 0;
    std::uint64_t least_certain_ = 0;
    std::uint64_t most_ = 0;
};

// Has the driver make a context by `make`, or say why not; `undo` ends it again. `bytes` is what it
// is expected to take, and then what it counts for.
template <typename Make, typename Undo>
CUresult make_measured(ContextOf of, const Make& make, const Undo& undo, std::uint64_t& bytes) {
    ContextCosts costs(of, bytes);
    for (;;) {
        const ContextCost cost(of.card);
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        if (costs.add(cost.taken())) break;
        undo();
    }
    bytes = costs.counted();
    return CUDA_SUCCESS;
}

}  // namespace tessera::guard

// The GPU time that a namespace was charged, at any time: the fold over its usage records.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/charge.hpp"
#include "domain/budget/gpu_duration.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

// What was charged in a window.
struct UsedWindow {
    Window window;
    GpuDuration used;
};

// Immutable. Depends neither on the order of the records nor on copies of them, and roll-ups give
// the same curve as the records that they were made of.
class UsageCurve {
  public:
    // From `from_s` on, until the next step, the namespace is charged `rate` nanoseconds of GPU
    // time per second. `before` was charged until then.
    struct Step {
        std::int64_t from_s = 0;
        WideInt rate = 0;
        GpuDuration before;
    };

    // A namespace without usage.
    UsageCurve() = default;

    // Records of other namespaces are left out, after copies were: of two records of one key that
    // name different namespaces, one is charged. Error: of check_record.
    static Result<UsageCurve> of(std::span<const UsageRecord> records, std::string_view ns,
                                 const ChargeRule& rule);

    // From sums instead of records, for windows that follow each other, in order. None is empty or
    // overlaps another one, and nothing was used in a gap between two. Within a window the rate is
    // constant, rounded down. So used() is exact for a window that begins and ends where these do,
    // and an estimate otherwise.
    static UsageCurve of_windows(std::span<const UsedWindow> windows);

    // What was charged in the window. O(log n).
    [[nodiscard]] GpuDuration used(Window window) const;

    // In order of time; the last one has rate 0.
    [[nodiscard]] std::span<const Step> steps() const { return steps_; }

  private:
    [[nodiscard]] GpuDuration used_before(std::int64_t unix_s) const;

    std::vector<Step> steps_;
};

}  // namespace tessera

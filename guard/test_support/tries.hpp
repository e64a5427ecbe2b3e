// Repeats measurements on a machine that others use. There, a thread without a core is charged for
// that time, or is not seen working. A real fault shows in every try, so a try must be long enough
// for all random choices to average out. A busy machine spoils only some tries.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <thread>

namespace tessera::guard {

inline bool holds_once(const std::function<bool()>& holds) {
    constexpr int kTries = 10;
    for (int tried = 0; tried < kTries; tried++) {
        if (holds()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20 * tried));
    }
    return false;
}

// Whether one measurement is more than `least` and less than `most`.
inline testing::AssertionResult once_within(double least, double most,
                                            const std::function<double()>& measure) {
    testing::AssertionResult none = testing::AssertionFailure();
    none << "not one is between " << least << " and " << most << ":";
    const bool is_within = holds_once([&] {
        const double measured = measure();
        none << ' ' << measured;
        return measured > least && measured < most;
    });
    return is_within ? testing::AssertionSuccess() : none;
}

inline testing::AssertionResult once_above(double least, const std::function<double()>& measure) {
    return once_within(least, std::numeric_limits<double>::infinity(), measure);
}

}  // namespace tessera::guard

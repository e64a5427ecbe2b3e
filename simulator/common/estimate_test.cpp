#include "simulator/common/estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace tessera {
namespace {

// Goal: mean and half-width by hand, for no value and one value, and for degrees of freedom at the
// begin, at the end and beyond the table of quantiles.
TEST(Estimate, ByHand) {
    EXPECT_DOUBLE_EQ(estimate({}).mean, 0);
    EXPECT_DOUBLE_EQ(estimate(std::vector<double>{5}).mean, 5);
    EXPECT_FALSE(estimate(std::vector<double>{5}).half);
    const std::vector<double> two{1, 3};
    EXPECT_DOUBLE_EQ(estimate(two).mean, 2);
    EXPECT_NEAR(*estimate(two).half, 12.706, 1e-9);
    const std::vector<double> three{1, 2, 3};  // with a variance of 1
    EXPECT_NEAR(*estimate(three).half, 4.303 / std::sqrt(3), 1e-9);
    for (const auto& [count, quantile] :
         {std::pair(31, 2.042), std::pair(32, 2.0), std::pair(90, 2.0)}) {
        std::vector<double> values(static_cast<std::size_t>(count), 0);
        values[0] = count;  // mean 1, squares count (count - 1)
        EXPECT_NEAR(*estimate(values).half, quantile, 1e-9) << count;
    }
}

}  // namespace
}  // namespace tessera

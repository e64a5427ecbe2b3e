// Goal: a GPU's time goes to the containers that are guaranteed it, then by weight, and is never
// given twice. Method: a table of cases, and random claims.
#include "guard/arbiter/fill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tessera::guard {
namespace {

double sum(const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0);
}

struct Row {
    const char* what;
    std::vector<Claim> claims;
    std::vector<double> expected;
};

TEST(Fill, FirstWhatIsSureThenByWeight) {
    const Row rows[] = {
        {"both want all of theirs", {{0.3, 1, 2, 0.3}, {0.7, 1, 2, 0.7}}, {0.3, 0.7}},
        {"by weight", {{0.2, 1, 2, 0.2}, {0.4, 1, 2, 0.4}}, {1.0 / 3, 2.0 / 3}},
        {"a compute limit", {{0.2, 0.3, 2, 0.2}, {0.4, 1, 2, 0.4}}, {0.3, 0.7}},
        {"an unlimited neighbour", {{0.3, 0.3, 2, 0.3}, {0, 1, 2, 0.1}}, {0.3, 0.7}},
        {"what one does not want", {{0.5, 1, 0.1, 0.5}, {0.5, 1, 2, 0.5}}, {0.1, 0.9}},
        {"room to come back", {{0.5, 1, 0, 0.5, false}, {0.2, 0.3, 2, 0.2}}, {0.7, 0.3}},
        {"no claim wants more", {{0.4, 0.6, 0.5, 0.4}, {0, 1, 0, 0.1, false}}, {0.6, 0.4}},
        {"the busy first", {{0.4, 1, 0.5, 0.4}, {0.5, 1, 0, 0.5, false}}, {1, 0}},
        {"guaranteed too much", {{0.8, 1, 2, 0.8}, {0.8, 1, 2, 0.8}}, {0.8, 0.8}},
        {"no claims", {}, {}},
    };
    for (const Row& row : rows) {
        const auto got = fill(row.claims);
        ASSERT_EQ(got.size(), row.expected.size());
        for (std::size_t i = 0; i < got.size(); i++)
            EXPECT_NEAR(got[i], row.expected[i], 1e-6) << row.what << ", " << i;
    }
}

TEST(Fill, NothingIsGivenTwice) {
    std::mt19937_64 random(7);
    const auto part = [&](double most) {
        return std::uniform_real_distribution<>(0, most)(random);
    };
    for (int round = 0; round < 10000; round++) {
        std::vector<Claim> claims(random() % 6 + 1);
        double sure = 0;
        for (Claim& claim : claims) {
            claim.cores = part(1 - sure);
            sure += claim.cores;
            claim.cores_limit = std::min(1.0, claim.cores + part(1));
            claim.wanted = part(1.5);
            claim.weight = claim.cores > 0 ? claim.cores : 0.1;
        }
        const auto got = fill(claims);
        EXPECT_LE(sum(got), 1 + 1e-6);
        for (std::size_t i = 0; i < got.size(); i++) {
            EXPECT_LE(got[i], claims[i].cores_limit + 1e-9);
            EXPECT_GE(got[i], std::min(claims[i].cores, claims[i].wanted) - 1e-9);
        }
    }
}

}  // namespace
}  // namespace tessera::guard

#include "app/common/token_reviews.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_access_review.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

// Goal: a verdict counts for its verb alone, also while it is remembered. The text says which right
// is missing. scheduler/http/access_test.cpp tests everything else.
TEST(TokenReviews, VerdictIsForAVerb) {
    constexpr const char* kPath = "/ledger/records";
    FakeAccessReview review;
    FakeClock clock;
    TokenReviews tokens(review, clock);
    review.tokens["agent"] = {{std::string("post ") + kPath, Verdict::granted}};
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(tokens.refuse("agent", AccessVerb::post, kPath));
        const auto refused = tokens.refuse("agent", AccessVerb::get, kPath);
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->status, 403);
        EXPECT_EQ(refused->body,
                  "the token's owner may not get the nonResourceURL /ledger/records\n");
    }
    EXPECT_EQ(review.reviews, 2);
}

}  // namespace
}  // namespace tessera

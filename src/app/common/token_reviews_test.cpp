#include "app/common/token_reviews.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "testing/fakes/fake_access_review.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

class TokenReviewsTest : public ::testing::Test {
  protected:
    static constexpr TokenMemory kKept{.granted_for = std::chrono::seconds(300), .most = 2'000};
    static constexpr const char* kInspect = "/inspect";

    TokenReviewsTest() {
        review_.tokens["reader"] = {{"/metrics", Verdict::granted}};
        review_.tokens["scraper"] = {{"/metrics", Verdict::granted}};
    }
    // The status of the refusal; 0: allowed.
    int get(const char* path, const std::string& token) {
        const auto refused = tokens_.refuse(token, AccessVerb::get, path);
        return refused ? refused->status : 0;
    }

    FakeAccessReview review_;
    FakeClock clock_;
    TokenReviews tokens_{review_, clock_, kKept};
};

// Goal: a verdict counts for its verb alone, also while it is remembered. The text says which right
// is missing.
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

// Goal: a 401 says how to authenticate, and a text that is no token is not sent for review.
TEST_F(TokenReviewsTest, NoToken) {
    for (const char* text : {"", " ", "a b", "a\xff", "a\n", "a\"b"}) {
        const auto refused = tokens_.refuse(text, AccessVerb::get, "/metrics");
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->status, 401);
        EXPECT_EQ(refused->authenticate, "Bearer");
    }
    EXPECT_EQ(review_.reviews, 0);
}

// Goal: an answer is remembered for its time and for its path only.
TEST_F(TokenReviewsTest, AnswersCountForAWhile) {
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    EXPECT_EQ(get("/metrics", "later"), 401);
    EXPECT_EQ(review_.reviews, 2);
    EXPECT_EQ(get(kInspect, "scraper"), 403);
    EXPECT_EQ(get(kInspect, "scraper"), 403);
    EXPECT_EQ(review_.reviews, 3);
    review_.tokens["later"] = {{"/metrics", Verdict::granted}};
    EXPECT_EQ(get("/metrics", "later"), 401);
    clock_.advance(TokenReviews::kRefusedFor);
    EXPECT_EQ(get("/metrics", "later"), 0);
    review_.tokens.clear();
    clock_.advance(kKept.granted_for - TokenReviews::kRefusedFor - std::chrono::nanoseconds(1));
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    clock_.advance(std::chrono::nanoseconds(1));
    EXPECT_EQ(get("/metrics", "scraper"), 401);
}

// Goal: a token that cannot be reviewed gets no access. One that was granted keeps it until its
// time is over.
TEST_F(TokenReviewsTest, NoAnswerFromTheApiServer) {
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    review_.down = true;
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    EXPECT_EQ(get("/metrics", "reader"), 503);
    clock_.advance(kKept.granted_for);
    EXPECT_EQ(get("/metrics", "scraper"), 503);
    review_.down = false;
    EXPECT_EQ(get("/metrics", "scraper"), 0) << "a failure is not remembered";
}

// Goal: made-up tokens fill no memory and displace no good one.
TEST_F(TokenReviewsTest, MadeUpTokens) {
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    for (std::size_t i = 0; i < kKept.most + 100; ++i) {
        if (i % TokenReviews::kMostNewReviewsPerSecond == 0)
            clock_.advance(std::chrono::seconds(1));
        EXPECT_EQ(get("/metrics", "x" + std::to_string(i)), 401);
    }
    const int before = review_.reviews;
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    EXPECT_EQ(review_.reviews, before);
}

// Goal: a reader whose time is over is granted access again, however many tokens are made up
// meanwhile.
TEST_F(TokenReviewsTest, MadeUpTokensDelayNoReader) {
    EXPECT_EQ(get("/metrics", "scraper"), 0);
    int refused = 0;
    for (int i = 0; i < 2 * TokenReviews::kMostNewReviewsPerSecond; ++i)
        refused += get("/metrics", "x" + std::to_string(i)) == 503 ? 1 : 0;
    EXPECT_EQ(refused, TokenReviews::kMostNewReviewsPerSecond + 1)
        << "the scraper's first review counts too";
    clock_.advance(kKept.granted_for - std::chrono::milliseconds(1));
    for (int i = 0; i < 2 * TokenReviews::kMostNewReviewsPerSecond; ++i)
        (void)get("/metrics", "y" + std::to_string(i));
    clock_.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(get("/metrics", "z"), 503);
    EXPECT_EQ(get("/metrics", "scraper"), 0);
}

// Goal: few reviews of unknown tokens run at once. Method: reviews that wait for one another.
TEST_F(TokenReviewsTest, FewReviewsAtOnce) {
    std::promise<void> release;
    const std::shared_future<void> released = release.get_future().share();
    review_.on_review = [released] { released.wait(); };
    std::vector<std::future<int>> asking;
    asking.reserve(TokenReviews::kMostReviews);
    for (int i = 0; i < TokenReviews::kMostReviews; ++i) {
        asking.push_back(std::async(
            std::launch::async, [this, i] { return get("/metrics", "x" + std::to_string(i)); }));
    }
    while (review_.reviews < TokenReviews::kMostReviews)
        std::this_thread::yield();
    EXPECT_EQ(get("/metrics", "one-more"), 503);
    release.set_value();
    for (auto& answer : asking)
        EXPECT_EQ(answer.get(), 401);
    EXPECT_EQ(get("/metrics", "one-more"), 401);
}

}  // namespace
}  // namespace tessera

#include "adapters/kube/kube_access_review.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

constexpr const char* kTokens = "POST /apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccess = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kUser =
    R"({"status":{"authenticated":true,"user":{"username":"prometheus","groups":["g"]}}})";

// Goal: the API server is asked which user the token belongs to, and then whether that user may
// use the path with the verb.
TEST(KubeAccessReview, AsksWhoAndWhat) {
    ScriptedServer server;
    server.answer(kTokens, 201, kUser);
    server.answer(kAccess, 201, R"({"status":{"allowed":true}})");
    server.answer(kAccess, 201, R"({"status":{"allowed":false}})");
    KubeAccessReview review(server.client());
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics"), Verdict::granted);
    EXPECT_EQ(review.review("t", AccessVerb::post, "/metrics"), Verdict::denied);
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 4U);
    EXPECT_NE(requests[0].body.find(R"("token":"t")"), std::string::npos);
    EXPECT_NE(requests[1].body.find(R"("user":"prometheus")"), std::string::npos);
    EXPECT_NE(requests[1].body.find(R"("path":"/metrics","verb":"get")"), std::string::npos);
    EXPECT_NE(requests[3].body.find(R"("path":"/metrics","verb":"post")"), std::string::npos);
}

// Goal: a token for the program is accepted, and a token for the API server, too.
TEST(KubeAccessReview, AcceptsTokensForTheProgram) {
    ScriptedServer server;
    server.answer(kTokens, 201,
                  R"({"status":{"authenticated":true,"user":{"username":"agent"},)"
                  R"("audiences":["ledger"]}})");
    server.answer(kTokens, 201, R"({"status":{"error":"token audiences are not for ledger"}})");
    server.answer(kTokens, 201, kUser);
    server.answer(kTokens, 201, kUser);  // it does not say that the token is for the program
    server.answer(kTokens, 201, R"({"status":{"error":"expired"}})");
    server.answer(kAccess, 201, R"({"status":{"allowed":true}})");
    KubeAccessReview review(server.client(), "ledger");
    EXPECT_EQ(review.review("t", AccessVerb::post, "/records"), Verdict::granted);
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics"), Verdict::granted);
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics"), Verdict::unknown);
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 7U);
    EXPECT_NE(requests[0].body.find(R"("audiences":["ledger"])"), std::string::npos);
    EXPECT_NE(requests[2].body.find(R"("audiences":["ledger"])"), std::string::npos);
    EXPECT_EQ(requests[3].body.find("audiences"), std::string::npos);
}

// Goal: an invalid token causes no second request; a failed review grants nothing.
TEST(KubeAccessReview, GrantsNothingInDoubt) {
    ScriptedServer server;
    server.answer(kTokens, 201, R"({"status":{"error":"expired"}})");
    server.answer(kTokens, 403, R"({"message":"may not create tokenreviews"})");
    server.answer(kTokens, 201, "rubbish");
    server.answer(kTokens, 201, kUser);
    server.answer(kAccess, 503, R"({"message":"away"})");
    KubeAccessReview review(server.client());
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics"), Verdict::unknown);
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics").error().code,
              Code::permission_denied);
    EXPECT_FALSE(review.review("t", AccessVerb::get, "/metrics"));
    EXPECT_EQ(review.review("t", AccessVerb::get, "/metrics").error().code, Code::unavailable);
}

}  // namespace
}  // namespace tessera

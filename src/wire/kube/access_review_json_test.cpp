#include "wire/kube/access_review_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Result<JsonDocument> status_of(const std::string& status) {
    return JsonDocument::parse(R"({"kind":"TokenReview","status":)" + status + "}");
}

// Goal: the objects are what the API server accepts.
TEST(AccessReviewJson, Writes) {
    EXPECT_EQ(write_token_review("a\"b", ""),
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
              R"("spec":{"token":"a\"b"}})");
    EXPECT_EQ(write_token_review("t", "ledger"),
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
              R"("spec":{"token":"t","audiences":["ledger"]}})");
    const ReviewedUser user{
        .name = "u", .uid = "1", .groups = {"g", "h"}, .extra = {{"k", {"x", "y"}}}};
    EXPECT_EQ(write_access_review(user, {.verb = "get", .path = "/metrics"}),
              R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
              R"("nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"u","uid":"1",)"
              R"("groups":["g","h"],"extra":{"k":["x","y"]}}})");
}

// Goal: a token has a user only if the answer says so, and the user is read in full.
TEST(AccessReviewJson, ReadsTokenReviews) {
    const auto good =
        status_of(R"({"authenticated":true,"user":{"username":"u","uid":"1","groups":["g"],)"
                  R"("extra":{"a/b":["x"]}},"audiences":["https://kubernetes.default.svc"]})");
    const auto user = read_token_review(good->root(), "");
    ASSERT_TRUE(user);
    EXPECT_EQ(*user, (ReviewedUser{"u", "1", {"g"}, {{"a/b", {"x"}}}}));
    for (const char* status :
         {R"({"authenticated":false,"user":{"username":"u"}})", R"({"user":{"username":"u"}})",
          R"({"authenticated":"true","user":{"username":"u"}})", R"({"authenticated":true})",
          R"({"authenticated":1,"user":{"username":"u"}})",
          R"({"authenticated":true,"user":{"username":""}})",
          R"({"authenticated":true,"user":{"username":7}})", R"({"authenticated":true,"user":"u"})",
          R"({"error":"expired"})", "null", "[]", "true"}) {
        const auto document = status_of(status);
        ASSERT_TRUE(document) << status;
        EXPECT_FALSE(read_token_review(document->root(), "")) << status;
    }
}

// Goal: a token for a program counts only if the answer names the program.
TEST(AccessReviewJson, ReadsAudiences) {
    const std::vector<std::pair<const char*, bool>> cases = {
        {R"(,"audiences":["ledger"])", true}, {R"(,"audiences":["other","ledger"])", true},
        {R"(,"audiences":["other"])", false}, {R"(,"audiences":"ledger")", false},
        {R"(,"audiences":[])", false},        {"", false},
    };
    for (const auto& [audiences, good] : cases) {
        const auto document = status_of(
            std::string(R"({"authenticated":true,"user":{"username":"u"})") + audiences + "}");
        ASSERT_TRUE(document) << audiences;
        EXPECT_EQ(read_token_review(document->root(), "ledger").has_value(), good) << audiences;
    }
}

// Goal: only an explicit yes allows.
TEST(AccessReviewJson, ReadsAccessReviews) {
    const std::vector<std::pair<const char*, bool>> cases = {
        {R"({"allowed":true})", true},
        {R"({"allowed":true,"denied":false,"reason":"RBAC"})", true},
        {R"({"allowed":true,"denied":true})", false},
        {R"({"allowed":false})", false},
        {R"({"allowed":"true"})", false},
        {R"({"allowed":1})", false},
        {"{}", false},
        {"null", false},
        {"true", false},
    };
    for (const auto& [status, allowed] : cases) {
        const auto document = status_of(status);
        ASSERT_TRUE(document) << status;
        EXPECT_EQ(read_access_review(document->root()), allowed) << status;
    }
    EXPECT_FALSE(read_access_review(JsonDocument::parse("[]")->root()));
}

TEST(AccessReviewJson, OfTheCaller) {
    EXPECT_EQ(write_self_review(),
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
    EXPECT_NE(write_admin_review().find(
                  R"("resourceAttributes":{"verb":"*","group":"*","resource":"*"})"),
              std::string::npos);
    const auto read = [](std::string_view text) {
        return read_self_review(JsonDocument::parse(text)->root());
    };
    EXPECT_EQ(read(R"({"status":{"userInfo":{"username":"alex","uid":"7","groups":["team"]}}})"),
              (ReviewedUser{.name = "alex", .uid = "7", .groups = {"team"}, .extra = {}}));
    for (const char* text : {"{}", "[]", R"({"status":{"userInfo":{"username":""}}})",
                             R"({"status":{"userInfo":{"username":7}}})"})
        EXPECT_EQ(read(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tessera

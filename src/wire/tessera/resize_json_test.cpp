#include "wire/tessera/resize_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

constexpr const char* kText =
    R"({"version":1,"containers":[)"
    R"({"name":"main","memory":"6Gi","cores":40,"cores_limit":80},{"name":"side","memory":1048576}]})";

// Goal: the forms that people and programs write are read.
TEST(ResizeJson, Reads) {
    const auto requested = read_resize_request(kText);
    ASSERT_TRUE(requested) << requested.error().text;
    EXPECT_EQ(*requested, (RequestedShares{{{"main", gibibytes(6), Percent{40}, Percent{80}},
                                            {"side", mebibytes(1), {}, {}}}}));
    EXPECT_TRUE(read_resize_request(R"({"id":"x","version":1,"containers":[{"name":"main"}]})"));
    EXPECT_TRUE(
        read_resize_request(R"({"version":1,"containers":[{"name":"main","cores":null}]})"));
}

std::string with(std::string_view from, std::string_view to) {
    std::string text(kText);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

// Goal: an invalid request is refused as a whole, and the error names the member. Method: the good
// text with one thing wrong.
TEST(ResizeJson, RefusesWrongMembers) {
    struct Case {
        std::string text;
        const char* names;
    };
    const std::vector<Case> cases = {
        {"", "not JSON"},
        {"6Gi", "not JSON"},
        {"null", "version"},
        {"[]", "version"},
        {with(R"("version":1,)", ""), "version: missing"},
        {with(R"("version":1)", R"("version":0)"), "version"},
        {with(R"("containers":[)", R"("containers":{},"x":[)"), "x: is unknown; there is version"},
        {R"({"version":1})", "containers: missing"},
        {R"({"version":1,"containers":[]})", "containers: missing"},
        {R"({"version":1,"containers":{"name":"main"}})", "containers: missing"},
        {R"({"version":1,"containers":["main"]})", "containers: is not a list of objects"},
        {with(R"("name":"side")", R"("name":"main")"), "main appears twice"},
        {with(R"("name":"side")", R"("name":"")"), "name"},
        {with(R"("name":"side",)", ""), "name"},
        {with(R"("name":"side")", R"("name":7)"), "name"},
        {with(R"("cores":40)", R"("core":40)"), "core: is unknown; there is name, memory, cores"},
        {with(R"("cores":40)", R"("cores":"40")"), "cores"},
        {with(R"("cores":40)", R"("cores":4.5)"), "cores"},
        {with(R"("cores":40)", R"("cores":5000000000)"), "cores"},
        {with(R"("cores_limit":80)", R"("cores_limit":true)"), "cores_limit"},
        {with(R"("cores":40)", R"("cores":40,"cores":50)"), "cores: appears twice"},
        {with(R"("version":1)", R"("version":1,"id":5)"), "id: is not a text"},
        {with(R"("6Gi")", R"("six")"), "memory"},
        {with(R"("6Gi")", R"("")"), "memory"},
        {with(R"("6Gi")", "true"), "memory"},
        {with(R"("6Gi")", "-1"), "memory"},
        {with(R"("6Gi")", R"("2Pi")"), "memory: is more than any GPU has"},
        {std::string(100, '['), "not JSON"},
    };
    for (const Case& c : cases) {
        const auto requested = read_resize_request(c.text);
        ASSERT_FALSE(requested) << c.text;
        EXPECT_EQ(requested.error().code, Code::invalid_argument) << c.text;
        EXPECT_TRUE(requested.error().text.starts_with("tessera.dev/resize-request: "))
            << requested.error().text;
        EXPECT_NE(requested.error().text.find(c.names), std::string::npos)
            << c.text << ": " << requested.error().text;
    }
    std::string many = R"({"version":1,"containers":[{"name":"c"})";
    for (int i = 0; i < 64; ++i)
        many += R"(,{"name":"c)" + std::to_string(i) + "\"}";
    EXPECT_NE(read_resize_request(many + "]}").error().text.find("too many"), std::string::npos);
}

TEST(ResizeJson, NewerVersionIsUnsupported) {
    const auto requested = read_resize_request(R"({"version":2,"whatever":[]})");
    ASSERT_FALSE(requested);
    EXPECT_EQ(requested.error().code, Code::unsupported);
    EXPECT_NE(requested.error().text.find("upgrade Tessera"), std::string::npos);
}

// Goal: a refusal answers one text of a request, of any length, and gives the reason.
TEST(ResizeJson, Refusals) {
    const std::string request(100'000, 'x');
    const std::string refusal = write_resize_refusal(request, {Code::unavailable, "no \"room\""});
    EXPECT_LT(refusal.size(), 200U);
    EXPECT_TRUE(is_refusal_of(refusal, request));
    EXPECT_FALSE(is_refusal_of(refusal, request + "x"));
    EXPECT_FALSE(is_refusal_of(refusal, ""));
    EXPECT_FALSE(is_refusal_of("", request));
    EXPECT_FALSE(is_refusal_of("{}", request));
    EXPECT_FALSE(is_refusal_of("nonsense", request));
    EXPECT_EQ(read_resize_refusal(refusal), (Error{Code::unavailable, "no \"room\""}));
    EXPECT_EQ(read_resize_refusal("nonsense").code, Code::invalid_argument);
    EXPECT_EQ(read_resize_refusal(R"({"code":"internal","reason":"x"})"),
              (Error{Code::invalid_argument, "x"}));
}

// Goal: the digest is the one of sha256sum, so that users can compare.
TEST(ResizeJson, TheDigestIsSha256) {
    EXPECT_NE(write_resize_refusal("abc", {}).find(
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
              std::string::npos);
}

// Goal: what is written reads back.
RC_GTEST_PROP(ResizeJsonProperty, RoundTrip, ()) {
    RequestedShares requested;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
        RequestedShares::Container container{.name = "c" + std::to_string(i)};
        if (*rc::gen::arbitrary<bool>())
            container.memory = Bytes{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50)};
        if (*rc::gen::arbitrary<bool>()) container.cores = Percent{*rc::gen::inRange(0, 101)};
        if (*rc::gen::arbitrary<bool>()) container.cores_limit = Percent{*rc::gen::inRange(1, 101)};
        requested.containers.push_back(container);
    }
    const auto read = read_resize_request(write_resize_request(requested, random_text()));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == requested);
}

}  // namespace
}  // namespace tessera

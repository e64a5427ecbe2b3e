#include "wire/text/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

// Goal: chains over missing members end in an absent value, never in a fault.
TEST(Json, AbsentValues) {
    const auto document = JsonDocument::parse(R"({"a":{"b":[1,"x",null,true]},"n":null,"t":"é"})");
    ASSERT_TRUE(document);
    const JsonValue root = document->root();
    EXPECT_FALSE(root["no"]["such"]["member"].present());
    EXPECT_FALSE(root["n"].present());
    EXPECT_FALSE(root["n"]["x"].present());
    EXPECT_FALSE(root["t"]["x"].present());
    EXPECT_FALSE(JsonValue().present());
    EXPECT_TRUE(root["a"].is_object());
    EXPECT_TRUE(root["a"]["b"].is_array());
    EXPECT_EQ(root["t"].text(), "é");
    EXPECT_EQ(root["t"].text_or("y"), "é");
    EXPECT_EQ(root["no"].text_or("y"), "y");
    EXPECT_FALSE(root["t"].integer());
    EXPECT_TRUE(root["t"].elements().empty());
    EXPECT_TRUE(root["t"].members().empty());
    EXPECT_FALSE(root["t"].any_case("T").present());
    const auto elements = root["a"]["b"].elements();
    ASSERT_EQ(elements.size(), 4U);
    EXPECT_EQ(elements[0].integer(), 1);
    EXPECT_FALSE(elements[0].text());
    EXPECT_FALSE(elements[0].is_true());
    EXPECT_TRUE(elements[3].is_true());
    EXPECT_EQ(root["a"].members()[0].first, "b");
}

// Goal: keys of Go programs are found in any case.
TEST(Json, AnyCase) {
    const auto document = JsonDocument::parse(R"({"PodName":"p","podnamespace":"s"})");
    EXPECT_EQ(document->root().any_case("PODNAME").text(), "p");
    EXPECT_EQ(document->root().any_case("PodNamespace").text(), "s");
    EXPECT_FALSE(document->root().any_case("Node").present());
}

// Goal: text that is not JSON, or too deeply nested to be walked safely, is refused with a reason.
TEST(Json, Refuses) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_TRUE(JsonDocument::parse(nested(kMaxJsonDepth - 1)));
    for (const std::string& text :
         {std::string(), std::string(" "), std::string("{"), std::string("{}x"), std::string("01"),
          std::string("{\"a\":\"\xff\"}"), std::string("\"\x01\""), nested(kMaxJsonDepth + 1),
          nested(100'000)}) {
        const auto document = JsonDocument::parse(text);
        ASSERT_FALSE(document) << text.substr(0, 20);
        EXPECT_EQ(document.error().code, Code::invalid_argument);
        EXPECT_TRUE(document.error().text.starts_with("not JSON: ")) << document.error().text;
    }
}

// Goal: a null text is refused like an empty one.
TEST(Json, RefusesNothing) {
    const auto document = JsonDocument::parse({});
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().text, "not JSON: the text is empty");
}

// Goal: a document may move; the values of its root stay valid.
TEST(Json, DocumentMoves) {
    auto document = JsonDocument::parse(R"({"a":"b"})");
    const JsonValue value = document->root()["a"];
    const JsonDocument moved = *std::move(document);
    EXPECT_EQ(value.text(), "b");
    EXPECT_EQ(moved.root()["a"].text(), "b");
}

// Goal: the writer places commas and nesting correctly, in every combination.
TEST(Json, Writer) {
    JsonWriter w;
    w.object([&] {
        w.array("empty", [] {});
        w.array("mixed", [&] {
            w.item("a");
            w.item(std::int64_t{-3});
            w.object([&] { w.member("b", true); });
            w.object([] {});
        });
        w.object("o", [&] { w.member("c", "d"), w.member("e", std::string_view("f")); });
        w.raw_member("raw", "[1]");
        w.member("i", 7);
    });
    EXPECT_EQ(
        w.take(),
        R"({"empty":[],"mixed":["a",-3,{"b":true},{}],"o":{"c":"d","e":"f"},"raw":[1],"i":7})");
}

// Goal: any text comes back from a JSON string, and the string never contains a bare control
// character, quote or line end.
RC_GTEST_PROP(JsonProperty, StringsComeBack, ()) {
    const std::string text = random_text();
    const std::string quoted = json_string(text);
    for (const char c : quoted)
        RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
    const auto document = JsonDocument::parse(quoted);
    RC_ASSERT(document.has_value());
    RC_ASSERT(document->root().text() == text);
}

}  // namespace
}  // namespace tessera

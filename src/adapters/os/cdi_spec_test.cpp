// Goal: for any vendor's CDI file, reading it gives a specification or an error.
#include "adapters/os/cdi_spec.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Json = nlohmann::json;

TEST(CdiSpec, Reads) {
    const auto spec = read_cdi_spec(R"(cdiVersion: "0.5.0"
kind: nvidia.com/gpu
containerEdits: {env: [A=1]}
devices:
- name: 0
  containerEdits: {deviceNodes: [{path: /dev/nvidia0, major: 195, fileMode: 438}]}
)");
    ASSERT_TRUE(spec) << spec.error().text;
    EXPECT_EQ(spec->kind, "nvidia.com/gpu");
    EXPECT_EQ(spec->version, (CdiVersion{0, 5, 0}));
    EXPECT_EQ(spec->edits, (Json{{"env", {"A=1"}}}));
    ASSERT_EQ(spec->devices.size(), 1U);
    EXPECT_EQ(spec->devices[0].name, "0");
    EXPECT_EQ(cdi_edit_fields(spec->devices[0].edits, "deviceNodes", "path"),
              std::vector<std::string>{"/dev/nvidia0"});
    EXPECT_EQ(spec->devices[0].edits["deviceNodes"][0]["major"], 195);
}

TEST(CdiSpec, RefusesWhatIsNone) {
    const std::string laughs =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nkind: x/y\n"
        "containerEdits: {env: [*e,*e,*e,*e,*e]}\n";
    for (const std::string& text : std::vector<std::string>{
             "", "kind: \"x/\xff\"", "kind: \"x/y\\nz\"", "[]", "text", "{", "kind: [a]",
             "kind: x/y\ndevices: [1]", "cdiVersion: 1.0.0", "kind: x/y\ncdiVersion: {a: b}",
             "kind: x/y\ndevices: [{name: {a: b}}]", "kind: x/y\ncontainerEdits: [a]",
             "kind: x/y\ndevices: [{name: a, containerEdits: 3}]",
             "kind: x/y\ncontainerEdits: {deviceNodes: [{major: many}]}",
             "kind: x/y\ncontainerEdits: {env: [\"A=\xff\"]}",
             "kind: x/y\ncontainerEdits: {mounts: text}",
             "kind: x/y\ncontainerEdits: {env: {A: b}}",
             "kind: x/y\ndevices: [{name: a, containerEdits: {hooks: 1}}]", laughs}) {
        const auto spec = read_cdi_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_EQ(spec.error().code, Code::invalid_argument);
        EXPECT_EQ(spec.error().text.find('\n'), std::string::npos) << spec.error().text;
    }
}

// Goal: a field without a value counts as missing, as in the runtimes: it removes nothing.
TEST(CdiSpec, FieldsWithoutAValue) {
    const auto spec = read_cdi_spec(
        "kind: x/y\ncontainerEdits:\n  mounts:\n  env: ~\n  hooks: []\n"
        "devices:\n- {name: a, containerEdits: {env: [A=1], mounts: }}\n");
    ASSERT_TRUE(spec) << spec.error().text;
    EXPECT_EQ(spec->edits, (Json{{"hooks", Json::array()}}));
    EXPECT_EQ(spec->devices[0].edits, (Json{{"env", {"A=1"}}}));
}

// Goal: a map where a string or a list is expected is ignored, in each place that is read.
TEST(CdiSpec, FieldsOfAnotherForm) {
    for (const char* nodes : {R"([{"path":{"a":1}}])", R"([{"path":["/dev/nvidia0"]}])", "[3]",
                              R"({"path":"/dev/nvidia0"})", R"("/dev/nvidia0")", "null"}) {
        const Json edits = {{"deviceNodes", Json::parse(nodes)}};
        EXPECT_TRUE(cdi_edit_fields(edits, "deviceNodes", "path").empty()) << nodes;
    }
    EXPECT_TRUE(cdi_edit_fields(nullptr, "deviceNodes", "path").empty());
    EXPECT_TRUE(cdi_edit_fields(Json::array(), "deviceNodes", "path").empty());
}

TEST(CdiSpec, Merges) {
    Json edits = {{"env", {"A=1"}}};
    merge_cdi_edits(edits, {{"env", {"B=2"}}, {"intelRdt", {{"closID", "x"}}}});
    EXPECT_EQ(edits["env"], (Json{"A=1", "B=2"}));
    EXPECT_EQ(edits["intelRdt"], (Json{{"closID", "x"}}));
    // No list is lost when it is merged with another type: the guard's mounts are in one.
    for (const Json& other : {Json("text"), Json(), Json::object()}) {
        merge_cdi_edits(edits, {{"env", other}});
        EXPECT_EQ(edits["env"], (Json{"A=1", "B=2"})) << other;
    }
    merge_cdi_edits(edits, nullptr);
    merge_cdi_edits(edits, "text");
    EXPECT_EQ(edits.size(), 2U);
}

}  // namespace
}  // namespace tessera

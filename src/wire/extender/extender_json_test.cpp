#include "wire/extender/extender_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/builders/random_text.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPod =
    R"({"metadata":{"name":"p1","namespace":"default","uid":"u-1"},"spec":{"containers":[)"
    R"({"name":"main","resources":{"limits":{"aliyun.com/gpu-mem":"8"}}}]}})";

std::string args_text(std::string_view rest) {
    return "{\"Pod\":" + std::string(kPod) + "," + std::string(rest) + "}";
}
std::vector<std::string> names_of(const ExtenderArgs& args) {
    return {args.names.begin(), args.names.end()};
}
using Names = std::vector<std::string>;

// Goal: the form that kube-scheduler 1.20 to 1.36 posts with nodeCacheCapable: names, and null for
// Nodes.
TEST(ExtenderArgs, NamesMode) {
    std::string body = args_text(R"("Nodes":null,"NodeNames":["g2","g1"])");
    const auto args = read_extender_args(body);
    ASSERT_TRUE(args) << args.error().text;
    EXPECT_EQ(names_of(*args), (Names{"g2", "g1"}));
    EXPECT_FALSE(args->full_objects);
    EXPECT_TRUE(args->raws.empty());
    EXPECT_EQ(args->pod.uid, PodUid("u-1"));
    ASSERT_EQ(args->pod.containers.size(), 1U);
    EXPECT_EQ(args->pod.containers[0].limits[0].second, "8");
    EXPECT_FALSE(args->has_preferences);
    std::string soft = R"({"NodeNames":[],"Pod":{"spec":{"topologySpreadConstraints":[)"
                       R"({"whenUnsatisfiable":"ScheduleAnyway"}]}}})";
    EXPECT_TRUE(read_extender_args(soft)->has_preferences);
}

// Goal: with full objects each node is kept byte for byte, with white space and unknown fields.
TEST(ExtenderArgs, FullObjectsMode) {
    const std::string first =
        R"({ "metadata" : {"x":[1.50,{}],"name":"n\u0031"},"spec":{"a":"é\"}]"}})";
    const std::string second = R"({"metadata":{"name":"n2"},"status":null})";
    std::string body = args_text(R"("Nodes":{"metadata":{},"items":[)" + first + "," + second +
                                 R"(]},"NodeNames":null)");
    const auto args = read_extender_args(body);
    ASSERT_TRUE(args) << args.error().text;
    EXPECT_TRUE(args->full_objects);
    EXPECT_EQ(names_of(*args), (Names{"n1", "n2"}));
    ASSERT_EQ(args->raws.size(), 2U);
    EXPECT_EQ(args->raws[0], first);
    EXPECT_EQ(args->raws[1], second);
    EXPECT_EQ(
        write_filter_result(*args, {.fitting = {0, 1}, .failed = {}, .unresolvable = {}}),
        R"({"Nodes":{"metadata":{},"items":[)" + first + "," + second +
            R"(]},"NodeNames":["n\u0031","n2"],"FailedNodes":{},"FailedAndUnresolvableNodes":null,)"
            R"("Error":""})");
}

// Goal: keys in any case and order, unknown keys, empty lists, and both lists (names win). Method:
// a table of the body's members and the names that they mean.
TEST(ExtenderArgs, OtherForms) {
    const std::string pod(kPod);
    const std::string nodes = R"({"items":[{"metadata":{"name":"full"}}]})";
    struct Case {
        std::string body;
        Names names;
        bool full;
    };
    const std::vector<Case> cases = {
        {R"({"pod":)" + pod + R"(,"nodenames":["a"]})", {"a"}, false},
        {R"({"POD":)" + pod + R"(,"NODENAMES":["a"]})", {"a"}, false},
        {R"({"NodeNames":["a"],"Extra":{"deep":[[]]},"Pod":)" + pod + "}", {"a"}, false},
        {R"({"NodeNames":[],"Pod":)" + pod + "}", {}, false},
        {R"({"Nodes":)" + nodes + R"(,"NodeNames":["a"],"Pod":)" + pod + "}", {"a"}, false},
        {R"({"NodeNames":["a"],"Nodes":)" + nodes + R"(,"Pod":)" + pod + "}", {"a"}, false},
        {R"({"NodeNames":null,"Nodes":)" + nodes + R"(,"Pod":)" + pod + "}", {"full"}, true},
        {R"({"Nodes":{"items":null},"Pod":)" + pod + "}", {}, true},
        {R"({"Nodes":{},"Pod":)" + pod + "}", {}, true},
        {R"({"Nodes":{"items":[]},"Pod":)" + pod + "}", {}, true},
        {" \n{ \"Pod\" : " + pod + " , \"NodeNames\" : [ \"a\" ] } \n", {"a"}, false},
    };
    for (const Case& c : cases) {
        std::string body = c.body;
        const auto args = read_extender_args(body);
        ASSERT_TRUE(args) << c.body << ": " << args.error().text;
        EXPECT_EQ(names_of(*args), c.names) << c.body;
        EXPECT_EQ(args->full_objects, c.full) << c.body;
        EXPECT_EQ(args->pod.name.name, "p1");
    }
}

// Goal: errors have gpushare's own texts where it has one, and always a reason; nothing crashes.
TEST(ExtenderArgs, Errors) {
    const std::string pod(kPod);
    struct Case {
        std::string body;
        std::string text;
    };
    const std::vector<Case> cases = {
        {"", "EOF"},
        {"{}", "arg or pod is nil"},
        {R"({"Pod":null,"NodeNames":["a"]})", "arg or pod is nil"},
        {R"({"NodeNames":["a"]})", "arg or pod is nil"},
        {R"({"Pod":)" + pod + "}", "cannot get node names"},
        {R"({"Pod":)" + pod + R"(,"Nodes":null,"NodeNames":null})", "cannot get node names"},
        {"{bad", "not JSON"},
        {"null", "not JSON"},
        {"[]", "not JSON"},
        {"7", "not JSON"},
        {"\xff", "not JSON"},
        {R"({"Pod":7,"NodeNames":["a"]})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"NodeNames":"a"})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"NodeNames":[7]})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"Nodes":[]})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"Nodes":{"items":[7]}})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"Nodes":{"items":[{}]}})", "not JSON"},
        {R"({"Pod":)" + pod + R"(,"Nodes":{"items":[{"metadata":{"name":7}}]}})", "not JSON"},
        {R"({"Pod":{"a":)" + std::string(200, '[') + std::string(200, ']') +
             R"(},"NodeNames":["a"]})",
         "not JSON"},
    };
    for (const Case& c : cases) {
        std::string body = c.body;
        const auto args = read_extender_args(body);
        ASSERT_FALSE(args) << c.body;
        EXPECT_EQ(args.error().code, Code::invalid_argument);
        EXPECT_TRUE(args.error().text.starts_with(c.text)) << c.body << ": " << args.error().text;
    }
}

// Goal: a request that was cut off anywhere is refused.
TEST(ExtenderArgs, RefusesEveryTruncation) {
    for (const std::string& whole :
         {args_text(R"("Nodes":null,"NodeNames":["g2","g1"])"),
          args_text(R"("Nodes":{"items":[{"metadata":{"name":"n"}}]})")}) {
        for (std::size_t size = 0; size < whole.size(); ++size) {
            std::string body = whole.substr(0, size);
            ASSERT_FALSE(read_extender_args(body)) << body;
        }
    }
}

// Goal: one thread reads requests one after the other, large and small, without mixing them.
TEST(ExtenderArgs, ParserIsUsedAgain) {
    std::string large_names = "\"n\"";
    for (int i = 0; i < 5000; ++i)
        large_names += ",\"node-" + std::to_string(i) + "\"";
    for (int round = 0; round < 3; ++round) {
        std::string large = args_text("\"NodeNames\":[" + large_names + "]");
        const auto many = read_extender_args(large);
        ASSERT_TRUE(many);
        EXPECT_EQ(many->names.size(), 5001U);
        EXPECT_EQ(many->names.back(), "node-4999");
        std::string small = args_text(R"("NodeNames":["only"])");
        const auto few = read_extender_args(small);
        ASSERT_TRUE(few);
        EXPECT_EQ(names_of(*few), Names{"only"});
        std::string bad = "{";
        EXPECT_FALSE(read_extender_args(bad));
    }
}

// Goal: a huge request is read like any other, and its names live as long as it does, whatever the
// thread reads in between.
TEST(ExtenderArgs, HugeRequest) {
    std::string huge = "{\"Pod\":" + std::string(kPod) + ",\"Extra\":\"" +
                       std::string(std::size_t{5} << 20, 'x') + "\",\"NodeNames\":[\"n1\"]}";
    const auto args = read_extender_args(huge);
    ASSERT_TRUE(args) << args.error().text;
    std::string small = args_text(R"("NodeNames":["another"])");
    ASSERT_TRUE(read_extender_args(small));
    EXPECT_EQ(names_of(*args), Names{"n1"});
}

// Goal: the answer has gpushare's key order: reasons sorted by node, unresolvable null when empty.
TEST(FilterResult, Text) {
    std::string body = args_text(R"("NodeNames":["n3","n1","n2","n4"])");
    const auto args = read_extender_args(body);
    ASSERT_TRUE(args);
    EXPECT_EQ(write_filter_result(*args, {.fitting = {1},
                                          .failed = {{0, "full"}, {2, "a\"b"}, {2, "a\"b"}},
                                          .unresolvable = {{3, "never"}}}),
              R"({"Nodes":null,"NodeNames":["n1"],"FailedNodes":{"n2":"a\"b","n3":"full"},)"
              R"("FailedAndUnresolvableNodes":{"n4":"never"},"Error":""})");
    EXPECT_EQ(write_filter_result(*args, {}),
              R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":null,)"
              R"("Error":""})");
    EXPECT_EQ(write_filter_error("arg or pod is nil"),
              R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
              R"("FailedAndUnresolvableNodes":null,"Error":"arg or pod is nil"})");
    EXPECT_EQ(write_priorities(*args, {0, 10, 5, 7}),
              R"([{"Host":"n3","Score":0},{"Host":"n1","Score":10},{"Host":"n2","Score":5},)"
              R"({"Host":"n4","Score":7}])");
}

// Goal: the text has no percent sign, which kube-scheduler would treat as a format verb.
TEST(FilterResult, PercentSigns) {
    std::string body = args_text(R"("NodeNames":["n1"])");
    const auto args = read_extender_args(body);
    ASSERT_TRUE(args);
    EXPECT_NE(write_filter_result(
                  *args, {.fitting = {}, .failed = {}, .unresolvable = {{0, R"("30%" is wrong)"}}})
                  .find(R"({"n1":"\"30 percent\" is wrong"})"),
              std::string::npos);
    EXPECT_NE(write_filter_error("30%").find(R"("Error":"30 percent"})"), std::string::npos);
}

// Goal: characters that Go escapes for browsers are not escaped; JSON readers see no difference.
TEST(FilterResult, MarkupIsNotEscaped) {
    std::string body = args_text(R"("NodeNames":["n1"])");
    const auto args = read_extender_args(body);
    ASSERT_TRUE(args);
    const std::string text =
        write_filter_result(*args, {.fitting = {}, .failed = {{0, "a<b>&c"}}, .unresolvable = {}});
    EXPECT_NE(text.find(R"("FailedNodes":{"n1":"a<b>&c"})"), std::string::npos) << text;
}

// Goal: bind arguments as current and older versions of kube-scheduler post them.
TEST(BindArgs, Forms) {
    for (const char* body :
         {R"({"PodName":"p1","PodNamespace":"default","PodUID":"u","Node":"g1"})",
          R"({"podname":"p1","podnamespace":"default","podUID":"u","node":"g1"})",
          R"({"X":[],"Node":"g1","PodUID":"u","PodNamespace":"default","PodName":"p1"})"}) {
        const auto args = read_bind_args(body);
        ASSERT_TRUE(args) << args.error().text;
        EXPECT_EQ(args->pod, (PodName{"default", "p1"}));
        EXPECT_EQ(args->uid, PodUid("u"));
        EXPECT_EQ(args->node, NodeName("g1"));
    }
}

// Goal: names that would lead elsewhere in an API server path are refused, with the field. Method:
// each field in turn has an invalid text.
TEST(BindArgs, OnlyNames) {
    const auto refusal = [](const std::string& field, const std::string& value) {
        std::map<std::string, std::string> fields = {
            {"PodName", "p.1"}, {"PodNamespace", "d-1"}, {"PodUID", "u"}, {"Node", "g.example"}};
        fields[field] = value;
        std::string body;
        for (const auto& [key, text] : fields)
            body += (body.empty() ? "{" : ",") + json_string(key) + ":" + json_string(text);
        const auto args = read_bind_args(body + "}");
        return args ? "" : args.error().text.substr(0, args.error().text.find(':'));
    };
    for (const char* field : {"PodName", "PodNamespace", "Node"}) {
        for (const char* value : {"a/b", "..", "../x", "a?x=1", "a#b", "a%2fb", "A", "a b", "a_b",
                                  "-a", "a-", "a..b", ".a", "a.", "a\nb", "é", "a;b"}) {
            EXPECT_EQ(refusal(field, value), field) << value;
        }
        EXPECT_EQ(refusal(field, std::string(63, 'a')), "");
    }
    EXPECT_EQ(refusal("PodName", std::string(253, 'a')), "");
    EXPECT_EQ(refusal("PodName", std::string(254, 'a')), "PodName");
    EXPECT_EQ(refusal("Node", std::string(254, 'a')), "Node");
    EXPECT_EQ(refusal("PodNamespace", "a.b"), "PodNamespace");
    EXPECT_EQ(refusal("PodNamespace", std::string(64, 'a')), "PodNamespace");
    EXPECT_EQ(refusal("PodUID", std::string(128, 'u')), "");
    EXPECT_EQ(refusal("PodUID", std::string(129, 'u')), "PodUID");
    EXPECT_EQ(refusal("PodUID", "a\nb"), "PodUID");
}

// Goal: a missing, null, empty or wrong field is named; broken text is refused.
TEST(BindArgs, Errors) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "EOF"},
        {"{", "not JSON"},
        {"[]", "PodName: missing"},
        {"null", "PodName: missing"},
        {R"({"PodNamespace":"d","PodUID":"u","Node":"g"})", "PodName: missing"},
        {R"({"PodName":"p","PodUID":"u","Node":"g"})", "PodNamespace: missing"},
        {R"({"PodName":"p","PodNamespace":"d","PodUID":null,"Node":"g"})", "PodUID: missing"},
        {R"({"PodName":"p","PodNamespace":"d","PodUID":"","Node":"g"})", "PodUID: missing"},
        {R"({"PodName":"p","PodNamespace":"d","PodUID":"u","Node":7})", "Node: missing"},
    };
    for (const auto& [body, text] : cases) {
        const auto args = read_bind_args(body);
        ASSERT_FALSE(args) << body;
        EXPECT_TRUE(args.error().text.starts_with(text)) << args.error().text;
    }
    EXPECT_EQ(write_bind_result(""), R"({"Error":""})");
    EXPECT_EQ(write_bind_result("a\"b"), R"({"Error":"a\"b"})");
}

// Goal: names of any text survive reading and writing.
RC_GTEST_PROP(ExtenderProperty, NamesComeBack, ()) {
    const std::string first = random_text();
    const std::string second = random_text() + "2";
    std::string body =
        args_text("\"NodeNames\":[" + json_string(first) + "," + json_string(second) + "]");
    const auto args = read_extender_args(body);
    RC_ASSERT(args.has_value());
    RC_ASSERT(names_of(*args) == (Names{first, second}));
    const auto document = JsonDocument::parse(
        write_filter_result(*args, {.fitting = {1}, .failed = {}, .unresolvable = {}}));
    RC_ASSERT(document.has_value());
    RC_ASSERT(document->root()["NodeNames"].elements()[0].text() == second);
}

}  // namespace
}  // namespace tessera

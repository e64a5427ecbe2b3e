#include "wire/tessera/usage_sums_json.hpp"

#include <gtest/gtest.h>

#include "base/quantity.hpp"

namespace tessera {
namespace {

constexpr const char* kSum =
    R"({"model":"A100","memoryBytes":3221225472,"capacityBytes":85899345920,"computePercent":25,)"
    R"("whole":false,"seconds":7200})";

UsageSum sum() {
    return {.shape = {.model = "A100",
                      .memory = gibibytes(3),
                      .capacity = gibibytes(80),
                      .compute = Percent{25}},
            .seconds = 7'200};
}

std::string answer(const std::string& namespaces) {
    return R"({"version":1,"from":60,"to":120,"namespaces":)" + namespaces + "}";
}

// Goal: the controller and the command line read what the ledger wrote.
TEST(UsageSumsJson, IsReadBack) {
    UsageSums sums{.window = {60, 120}, .by_namespace = {{"lab", {sum()}}}};
    EXPECT_EQ(write_usage_sums(sums),
              answer(R"([{"namespace":"lab","usage":[)" + std::string(kSum) + "]}]") + "\n");
    UsageSum whole = sum();
    whole.shape.whole = true;
    sums.by_namespace["team"] = {sum(), whole};
    sums.by_namespace["none"] = {};
    EXPECT_EQ(read_usage_sums(write_usage_sums(sums)).value(), sums);
    EXPECT_EQ(read_usage_sums(answer("[]")).value(), (UsageSums{.window = {60, 120}}));
}

TEST(UsageSumsJson, RefusesWhatCannotBeCharged) {
    struct Case {
        std::string text;
        const char* error;
    };
    const auto usage = [](const std::string& text) {
        return answer(R"([{"namespace":"lab","usage":[)" + text + "]}]");
    };
    const auto with = [&](const std::string& before, const std::string& after) {
        std::string text = kSum;
        return usage(text.replace(text.find(before), before.size(), after));
    };
    for (const Case& c : std::initializer_list<Case>{
             {"{}", "version: missing"},
             {R"({"version":2})", "version: 2 is of a newer release"},
             {R"({"version":1,"from":2,"to":1})",
              "to: is not a whole number from 2 to 16725225600"},
             {answer("{}"), "namespaces: is not a list"},
             {answer("[{}]"), "namespaces[0].namespace: missing"},
             {answer(R"([{"namespace":"a","usage":[]},{"namespace":"a","usage":[]}])"),
              "namespaces: \"a\" is listed twice"},
             {usage("{}"), "namespaces[0].usage[0].model: missing"},
             {with("3221225472", "-1"),
              "namespaces[0].usage[0].memoryBytes: is not a whole number from 0 to 85899345920"},
             {with(":25", ":101"),
              "namespaces[0].usage[0].computePercent: is not a whole number from 0 to 100"},
             {with("false", "0"), "namespaces[0].usage[0].whole: is neither true nor false"},
             {with("7200", "1.5"),
              "namespaces[0].usage[0].seconds: is not a whole number from 0 to "
              "9223372036854775807"}}) {
        const auto read = read_usage_sums(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().text, c.error) << c.text;
    }
}

// Goal: a query that is misspelt gets no answer to another question.
TEST(UsageSumsJson, Query) {
    const UsageQuery all{.window = {60, 120}};
    const UsageQuery one{.window = {0, 16'725'225'600}, .ns = "team-a"};
    EXPECT_EQ(write_usage_query(one), "from=0&to=16725225600&namespace=team-a");
    EXPECT_EQ(read_usage_query(write_usage_query(one)).value(), one);
    EXPECT_EQ(read_usage_query(write_usage_query(all)).value(), all);
    EXPECT_EQ(read_usage_query("to=120&from=%36%30").value(), all);
    const std::pair<const char*, const char*> cases[] = {
        {"", "from: missing; write unix seconds"},
        {"from=1", "to: missing; write unix seconds"},
        {"from=&to=2", "from: is not a whole number from 0 to 16725225600"},
        {"from=-1&to=2", "from: is not a whole number from 0 to 16725225600"},
        {"from=+1&to=2", "from: is not a whole number from 0 to 16725225600"},
        {"from=1&to=1e3", "to: is not a whole number from 0 to 16725225600"},
        {"from=1&to=16725225601", "to: is not a whole number from 0 to 16725225600"},
        {"from=1&to=99999999999999999999", "to: is not a whole number from 0 to 16725225600"},
        {"from=2&to=2", "to: is not after from"},
        {"from=1&to=2&to=3", "to: is given twice"},
        {"from=1&to=2&ns=a", "query: there is no parameter \"ns\"; write from, to, namespace"},
        {"from=1&to=2&%ff=a",
         "query: there is no parameter of such bytes; write from, to, namespace"},
        {"from=1&to=2&namespace=", "namespace: is not the name of a namespace"},
        {"from=1&to=2&namespace", "namespace: is not the name of a namespace"},
        {"from=1&to=2&namespace=A%2F", "namespace: is not the name of a namespace"}};
    for (const auto& [query, error] : cases) {
        const auto read = read_usage_query(query);
        ASSERT_FALSE(read) << query;
        EXPECT_EQ(read.error().text, error) << query;
    }
}

}  // namespace
}  // namespace tessera

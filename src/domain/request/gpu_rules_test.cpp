#include "domain/request/gpu_rules.hpp"

#include <gtest/gtest.h>

#include "base/result.hpp"

namespace tessera {
namespace {

const GpuUuid kGpu("GPU-1");

bool admits(const GpuRules& rules, const GpuUuid& uuid, std::string_view model) {
    return admits_uuid(rules, uuid) && admits_model(rules, model);
}

Result<GpuRules> of_models(const std::string& text) {
    return parse_gpu_rules({.models = text}, "default");
}

// Goal: a request matches successive words of a model, so that A10 does not match A100, with any
// case and dashes.
TEST(GpuRules, ModelsByTheirWords) {
    struct Row {
        const char* alternative;
        const char* model;
        bool is_it;
    };
    for (const auto& [alternative, model, is_it] : {
             Row{"A100", "NVIDIA A100-SXM4-80GB", true},
             Row{"a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB", true},
             Row{"A100 80GB", "NVIDIA A100-SXM4-80GB", false},
             Row{"A10", "NVIDIA A100-SXM4-80GB", false},
             Row{"A10", "NVIDIA A10", true},
             Row{"Tesla T4", "Tesla T4", true},
             Row{"NVIDIA-A100", "NVIDIA A100-SXM4-80GB", true},
             Row{"T4", "", false},
             Row{"", "Tesla T4", false},
         }) {
        EXPECT_EQ(is_of_model(alternative, model), is_it) << alternative << " of " << model;
    }
}

TEST(GpuRules, AListAdmitsAnyOfItAndNoneThatIsBarred) {
    struct Row {
        const char* text;
        const char* model;
        bool is_admitted;
    };
    for (const auto& [text, model, is_admitted] : {
             Row{"", "Tesla T4", true},
             Row{"T4", "Tesla T4", true},
             Row{"A100 , T4", "Tesla T4", true},
             Row{"A100,H100", "Tesla T4", false},
             Row{"!T4", "Tesla T4", false},
             Row{"!T4", "NVIDIA A100", true},
             Row{"!T4", "", true},
             Row{"NVIDIA, !A100", "NVIDIA H100", true},
             Row{"NVIDIA, ! A100", "NVIDIA A100", false},
             Row{"A100,\n  T4\n", "Tesla T4", true},
         }) {
        const auto rules = of_models(text);
        ASSERT_TRUE(rules) << text;
        EXPECT_EQ(admits(*rules, kGpu, model), is_admitted) << text << " and " << model;
    }
}

TEST(GpuRules, GpusByUuid) {
    const auto only = parse_gpu_rules({.uuids = "GPU-1, GPU-2"}, "default");
    const auto others = parse_gpu_rules({.models = "T4", .uuids = "!GPU-1"}, "default");
    ASSERT_TRUE(only && others);
    EXPECT_TRUE(admits(*only, kGpu, "Tesla T4"));
    EXPECT_FALSE(admits(*only, GpuUuid("GPU-3"), "Tesla T4"));
    EXPECT_FALSE(admits(*others, kGpu, "Tesla T4"));
    EXPECT_TRUE(admits(*others, GpuUuid("GPU-3"), "Tesla T4"));
    EXPECT_FALSE(admits(*others, GpuUuid("GPU-3"), "NVIDIA A100"));
}

TEST(GpuRules, AGroupIsOfANamespaceAndAnAnnotation) {
    const auto group = [](const GpuRuleTexts& texts, const char* ns) {
        return parse_gpu_rules(texts, ns)->groups();
    };
    const auto web = group({.anti_affinity = "web"}, "a");
    ASSERT_EQ(web.size(), 1U);
    EXPECT_EQ(group({.anti_affinity = "web"}, "a"), web);
    EXPECT_NE(group({.anti_affinity = "web"}, "b"), web);
    EXPECT_NE(group({.anti_affinity = "job"}, "a"), web);
    EXPECT_NE(group({.affinity = "web"}, "a"), web);
    EXPECT_TRUE(group({}, "a").empty());
    EXPECT_TRUE(parse_gpu_rules({}, "a")->admits_any());
}

// Goal: a long annotation does not make the scheduler's answer long.
TEST(GpuRules, WordsAreFew) {
    std::string text = "T4";
    for (int i = 0; i < 60; ++i)
        text += ", " + std::string(100, 'x');
    const auto rules = of_models(text);
    ASSERT_TRUE(rules);
    EXPECT_LT(describe_rules(*rules).size(), 200U);
    EXPECT_NE(describe_rules(*rules).find("a GPU of model T4 or xxx"), std::string::npos);
    EXPECT_NE(describe_rules(*rules).find(" or 58 more"), std::string::npos);
}

// Goal: an invalid list is refused with the annotation, the text and what to write.
TEST(GpuRules, RefusesWhatIsNoList) {
    struct Row {
        GpuRuleTexts texts;
        const char* annotation;
        const char* part;
    };
    const std::vector<Row> rows = {
        {{.models = ","}, "tessera.dev/gpu-models", "write such as \"A100, H100\""},
        {{.models = "T4,,A100"}, "tessera.dev/gpu-models", "\"T4,,A100\""},
        {{.models = "!"}, "tessera.dev/gpu-models", "no list of models"},
        {{.models = "- _"}, "tessera.dev/gpu-models", "no list of models"},
        {{.models = std::string(200, 'x')}, "tessera.dev/gpu-models", "no list of models"},
        {{.models = "!!A100"}, "tessera.dev/gpu-models", "no list of models"},
        {{.models = "100%s"}, "tessera.dev/gpu-models", "no list of models"},
        {{.uuids = "GPU-1,"}, "tessera.dev/gpu-uuids", "nvidia-smi -L"},
        {{.anti_affinity = "a b"},
         "label tessera.dev/gpu-anti-affinity",
         "\"a b\" is not a label's value"},
        {{.anti_affinity = "-a"},
         "label tessera.dev/gpu-anti-affinity",
         "the first and the last a letter"},
        {{.affinity = "a."}, "label tessera.dev/gpu-affinity", "\"a.\" is not a label's value"},
        {{.affinity = std::string(64, 'x')}, "label tessera.dev/gpu-affinity", "up to 63"},
    };
    for (const Row& row : rows) {
        const auto rules = parse_gpu_rules(row.texts, "default");
        ASSERT_FALSE(rules) << row.annotation;
        EXPECT_EQ(rules.error().code, Code::invalid_argument);
        EXPECT_NE(rules.error().text.find(row.annotation), std::string::npos) << rules.error().text;
        EXPECT_NE(rules.error().text.find(row.part), std::string::npos) << rules.error().text;
    }
}

}  // namespace
}  // namespace tessera

#include "wire/tessera/node_configs_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: names and values are read as the agent's configuration file has them.
TEST(NodeConfigsJson, Values) {
    const auto configs = read_node_configs(
        R"({"a100":{"slots_per_gpu":8,"excluded_gpus":[0,"GPU-a"],"cdi_kind":"x/y"},"t4":{}})");
    ASSERT_TRUE(configs) << configs.error().text;
    EXPECT_EQ(
        *configs,
        (NodeConfigs{
            {"a100", {{"slots_per_gpu", "8"}, {"excluded_gpus", "0,GPU-a"}, {"cdi_kind", "x/y"}}},
            {"t4", {}}}));
    EXPECT_EQ(read_node_configs("")->size(), 0U);
}

// Goal: each fault names the configuration and the key, and says what there is.
TEST(NodeConfigsJson, Faults) {
    const struct {
        const char* json;
        const char* fault;
    } rows[] = {
        {"{", "node_configs: "},
        {"[]", "node_configs: is not an object of names and configurations"},
        {R"({"a b":{}})", "node_configs: the name \"a b\" is not the value of a label"},
        {R"({"a":[]})", "node_configs: a: is not an object of keys and values"},
        {R"({"a":{"listen":"::"}})", "node_configs: a: listen: unknown key; there are cdi_kind, "},
        {R"({"a":{"slots_per_gpu":1.5}})",
         "node_configs: a: slots_per_gpu: is not a text, a whole number or a list of them"},
        {R"({"a":{"excluded_gpus":["0,1"]}})", "node_configs: a: excluded_gpus: is not a text"},
        {R"({"a":{"excluded_gpus":[[]]}})", "node_configs: a: excluded_gpus: is not a text"},
        {R"({"a":{"slots_per_gpu":1,"slots_per_gpu":2}})",
         "node_configs: a: slots_per_gpu: appears twice"},
        {R"({"a":{},"a":{}})", "node_configs: a: appears twice"},
    };
    for (const auto& row : rows) {
        const auto configs = read_node_configs(row.json);
        ASSERT_FALSE(configs) << row.json;
        EXPECT_EQ(configs.error().text.find(row.fault), 0U) << configs.error().text;
    }
}

}  // namespace
}  // namespace tessera

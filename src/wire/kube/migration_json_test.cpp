#include "wire/kube/migration_json.hpp"

#include <gtest/gtest.h>

#include "domain/dialect/gpushare.hpp"

namespace tessera {
namespace {

using migration::Role;

JsonDocument parse(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << document.error().text;
    return *std::move(document);
}

TEST(MigrationJson, Node) {
    const JsonDocument json = parse(R"({"metadata":{"name":"n","resourceVersion":"7",
        "labels":{"gpushare":"true","tessera.dev/agent":"true"},
        "annotations":{"tessera.dev/migrated-from":"gpushare","tessera.dev/cordoned-by":"migration",
                       "tessera.dev/gpus":"{}"}},
        "spec":{"unschedulable":true},"status":{"allocatable":{"aliyun.com/gpu-mem":"30"}}})");
    const JsonDocument agent = parse(R"({"nodeSelector":{"tessera.dev/agent":"true"}})");
    const migration::Node node = read_migration_node(json.root(), agent.root());
    EXPECT_EQ(node.name().str(), "n");
    EXPECT_EQ(node.version, "7");
    EXPECT_TRUE(node.has_old_label && node.has_agent_label && node.is_migrated);
    EXPECT_TRUE(node.is_cordoned && node.cordoned_by_us && node.is_agent_wanted);
    EXPECT_FALSE(node.published.empty());
    EXPECT_EQ(node.units, 30);
}

// Goal: labels with another value, and annotations of others, are not ours.
TEST(MigrationJson, OtherNodes) {
    for (const char* text :
         {R"({"metadata":{"name":"n","labels":{"gpushare":"false","tessera.dev/agent":"yes"},
              "annotations":{"tessera.dev/migrated-from":"hami","tessera.dev/cordoned-by":"x"}}})",
          R"({"metadata":{"labels":3,"annotations":[]},"spec":1,"status":{"allocatable":2}})",
          "[]"}) {
        const JsonDocument json = parse(text);
        const migration::Node node = read_migration_node(json.root(), JsonValue());
        EXPECT_FALSE(node.has_old_label || node.has_agent_label || node.is_migrated) << text;
        EXPECT_FALSE(node.is_cordoned || node.cordoned_by_us || node.is_agent_wanted) << text;
        EXPECT_EQ(node.units, 0) << text;
    }
}

TEST(MigrationJson, RolesOfPods) {
    const auto ours = [](const char* ns, const char* component) {
        return std::string(R"({"metadata":{"namespace":")") + ns +
               R"(","labels":{"app.kubernetes.io/name":"tessera",)" +
               R"("app.kubernetes.io/component":")" + component + R"("}}})";
    };
    const auto image = [](const char* name) {
        return std::string(R"({"spec":{"containers":[{"image":")") + name + R"("}]}})";
    };
    const auto component = [](const char* name) {
        return std::string(R"({"metadata":{"labels":{"component":")") + name + R"("}}})";
    };
    for (const auto& [text, role] : std::vector<std::pair<std::string, Role>>{
             {ours("tessera-system", "agent"), Role::agent},
             {ours("tessera-system", "controller"), Role::controller},
             {ours("default", "agent"), Role::workload},
             {image("registry/acs/k8s-gpushare-plugin:v2-1.11"), Role::old_plugin},
             {component("gpushare-device-plugin"), Role::old_plugin},
             {image("registry/acs/k8s-gpushare-schd-extender:1.11"), Role::old_extender},
             {component("gpushare-schd-extender"), Role::old_extender},
             {image("nvcr.io/nvidia/k8s-device-plugin:v0.17"), Role::other_gpu_program},
             {image("train:1"), Role::workload}}) {
        const JsonDocument json = parse(text);
        EXPECT_EQ(read_migration_pod(json.root(), "tessera-system").role, role) << text;
    }
}

TEST(MigrationJson, ReadyPods) {
    for (const auto& [text, is_ready] :
         {std::pair{R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})", true},
          {R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})", false},
          {R"({"metadata":{"deletionTimestamp":"x"},
               "status":{"conditions":[{"type":"Ready","status":"True"}]}})",
           false},
          {"{}", false}}) {
        const JsonDocument json = parse(text);
        EXPECT_EQ(read_migration_pod(json.root(), "t").is_ready, is_ready) << text;
    }
}

// Goal: the unit is what gpushare's plugin makes of its flags: GiB for everything but MiB.
TEST(MigrationJson, OldPlugins) {
    for (const auto& [command, unit] :
         {std::pair{R"(["plugin","--memory-unit=MiB"])", MemoryUnit::mib},
          {R"(["plugin","-memory-unit","MiB"])", MemoryUnit::mib},
          {R"(["plugin","-logtostderr","--memory-unit=GiB"])", MemoryUnit::gib},
          {R"(["plugin","--memory-unit=Mi"])", MemoryUnit::gib},
          {R"(["-"])", MemoryUnit::gib}}) {
        const JsonDocument json = parse(
            std::string(R"({"metadata":{"namespace":"k","name":"d"},"spec":{"template":{"spec":{
                "nodeSelector":{"gpushare":"true"},"containers":[{
                    "image":"k8s-gpushare-plugin:1","command":)") +
            command + "}]}}}}");
        const auto plugin = read_old_plugin(json.root());
        ASSERT_TRUE(plugin);
        EXPECT_EQ(plugin->name, "k/d");
        EXPECT_EQ(plugin->unit, unit) << command;
        EXPECT_TRUE(plugin->needs_old_label);
    }
    EXPECT_FALSE(read_old_plugin(parse("{}").root()));
}

TEST(MigrationJson, Controllers) {
    EXPECT_TRUE(
        is_webhook_trusted(parse(R"({"webhooks":[{"clientConfig":{"caBundle":"eA=="}}]})").root()));
    EXPECT_FALSE(is_webhook_trusted(parse(R"({"webhooks":[{"clientConfig":{}}]})").root()));
    EXPECT_FALSE(is_webhook_trusted(parse("{}").root()));
    EXPECT_TRUE(has_own_scheduler(
        parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"kube-scheduler"}]}}}})")
            .root()));
    EXPECT_FALSE(has_own_scheduler(parse("{}").root()));
}

TEST(MigrationJson, WritesAChange) {
    EXPECT_EQ(
        write_node_change(
            "7",
            {.what = "x", .labels = {{"a", ""}}, .annotations = {{"b", "c"}}, .is_cordoned = true}),
        R"({"metadata":{"resourceVersion":"7","annotations":{"b":"c"},"labels":{"a":null}},)"
        R"("spec":{"unschedulable":true}})");
    EXPECT_EQ(write_node_change("7", {.what = "x", .labels = {{"a", "true"}}}),
              R"({"metadata":{"resourceVersion":"7","labels":{"a":"true"}}})");
}

}  // namespace
}  // namespace tessera

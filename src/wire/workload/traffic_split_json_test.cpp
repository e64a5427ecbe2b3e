#include "wire/workload/traffic_split_json.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera::workload {
namespace {

JsonDocument parsed(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

TrafficRoute route() {
    return {.ns = "team",
            .name = "half",
            .gateway = {"infra", "web"},
            .hostname = "half.team",
            .backends = {{"half-v1-tensorflow-serving", 8501, 30},
                         {"half-v2-tensorflow-serving", 8601, 70}},
            .owners = {{"half-v1-tensorflow-serving", "u1"}, {"half-v2-tensorflow-serving", "u2"}},
            .uid = {},
            .why = {}};
}

std::string operations(const std::string& patch) {
    const JsonDocument document = parsed(patch);
    std::string out;
    for (const JsonValue one : document.root().elements())
        out += one["op"].text_or("") + " " + one["path"].text_or("") + "\n";
    return out;
}

// Goal: what is written is read back, and all versions own it.
TEST(TrafficSplitJson, Route) {
    const JsonDocument document = parsed(write_route(route()));
    const JsonValue root = document.root();
    EXPECT_EQ(root["kind"].text(), "HTTPRoute");
    EXPECT_EQ(root["metadata"]["ownerReferences"].elements().size(), 2U);
    EXPECT_EQ(root["spec"]["parentRefs"].elements().at(0)["name"].text(), "web");
    const auto read = read_route(root);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->gateway, route().gateway);
    EXPECT_EQ(read->hostname, "half.team");
    EXPECT_EQ(read->backends, route().backends);
    EXPECT_EQ(read->owners, route().owners);
    TrafficRoute every_host = route();
    every_host.hostname = "";
    EXPECT_EQ(read_route(parsed(write_route(every_host)).root())->hostname, "");
}

// Goal: what a Gateway says of the route is shown, also that it says nothing.
TEST(TrafficSplitJson, WhatAGatewaySays) {
    struct Case {
        const char* parents;
        const char* why;
    };
    constexpr std::array<Case, 6> kCases{{
        {"[]", "no Gateway has accepted it yet"},
        {R"([{"conditions":[{"type":"ResolvedRefs","status":"True"}]}])",
         "no Gateway has accepted it yet"},
        {R"([{"conditions":[{"type":"Accepted","status":"True","observedGeneration":7}]}])", ""},
        {R"([{"conditions":[{"type":"Accepted","status":"True"}]}])", ""},
        {R"([{"conditions":[{"type":"Accepted","status":"True","observedGeneration":6}]}])",
         "the Gateway has not seen the last change yet"},
        {R"([{"conditions":[{"type":"Accepted","status":"True"},{"type":"ResolvedRefs",
            "status":"False","reason":"BackendNotFound","message":"no Service"}]}])",
         "BackendNotFound: no Service"},
    }};
    for (const Case& one : kCases) {
        const auto read = read_route(
            parsed(std::string(R"({"metadata":{"name":"half","generation":7,"labels":{)"
                               R"("app.kubernetes.io/managed-by":"tessera",)"
                               R"("tessera.dev/serving-name":"half"}},"status":{"parents":)") +
                   one.parents + "}}")
                .root());
        ASSERT_TRUE(read) << one.parents;
        EXPECT_EQ(read->why, one.why) << one.parents;
    }
}

// Goal: another program's route, of whatever content, is none of ours; the API's defaults count.
TEST(TrafficSplitJson, ReadsRoutes) {
    const std::string labels =
        R"("labels":{"app.kubernetes.io/managed-by":"tessera","tessera.dev/serving-name":"half"})";
    for (const std::string& text :
         {std::string("{}"), std::string("[]"), std::string(R"({"metadata":{"name":"half"}})"),
          R"({"metadata":{"name":"other",)" + labels + "}}"})
        EXPECT_FALSE(read_route(parsed(text).root())) << text;
    const auto read = read_route(parsed(R"({"metadata":{"name":"half","namespace":"team",
        "generation":7,)" + labels + R"(},"spec":{"parentRefs":[{"name":"web"}],
        "rules":[{"backendRefs":[{"name":"a","port":1},{"name":"b","weight":9999999}]}]},
        "status":{"parents":[{"conditions":[{"type":"Accepted","status":"False",
        "reason":"NotAllowedByListeners","message":"no"}]}]}})")
                                     .root());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->generation, 7);
    EXPECT_EQ(read->gateway, (GatewayName{"team", "web"}));
    EXPECT_EQ(read->backends.at(0).weight, 1);
    EXPECT_EQ(read->backends.at(1).weight, 1'000'000);
    EXPECT_EQ(read->why, "NotAllowedByListeners: no");
    EXPECT_EQ(read_gateway(parsed(R"({"metadata":{"name":"web","namespace":"infra"}})").root()),
              (GatewayName{"infra", "web"}));
}

// Goal: a change fails after another one, and leaves what it does not concern.
TEST(TrafficSplitJson, RouteChange) {
    TrafficRoute before = route();
    before.uid = "u";
    before.generation = 3;
    const std::string common =
        "test /metadata/uid\ntest /metadata/generation\nadd /metadata/ownerReferences\n";
    EXPECT_EQ(operations(write_route_change(before, route())),
              common + "add /spec/rules/0/backendRefs\n");
    before.hostname = "";
    before.gateway.name = "other";
    EXPECT_EQ(operations(write_route_change(before, route())),
              common +
                  "add /spec/parentRefs\nadd /spec/hostnames\n"
                  "add /spec/rules/0/backendRefs\n");
    EXPECT_NE(write_route_change(before, route()).find(R"("value":3)"), std::string::npos);
}

TEST(TrafficSplitJson, SharedService) {
    const SharedService wanted{.ns = "team",
                               .name = "half",
                               .ports = {{"http-serving", 8501}},
                               .owners = route().owners,
                               .weights = "v1:30,v2:70"};
    const JsonDocument document = parsed(write_shared_service(wanted));
    const JsonValue selector = document.root()["spec"]["selector"];
    EXPECT_EQ(selector["tessera.dev/serving-name"].text(), "half");
    EXPECT_EQ(selector["tessera.dev/serving-split"].text(), "in");
    const auto read = read_shared_service(document.root());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->weights, wanted.weights);
    EXPECT_EQ(read->owners, wanted.owners);
    EXPECT_EQ(operations(write_shared_service_change(*read, wanted)),
              "test /metadata/uid\ntest /metadata/resourceVersion\n"
              "add /metadata/ownerReferences\n"
              "add /metadata/annotations/tessera.dev~1traffic-weights\nadd /spec/ports\n");
    EXPECT_FALSE(read_shared_service(parsed(R"({"metadata":{"name":"half"}})").root()));
}

TEST(TrafficSplitJson, Parts) {
    const std::string label = "/metadata/labels/tessera.dev~1serving-split\n";
    EXPECT_EQ(operations(write_part("u", true, {})),
              "test /metadata/uid\nadd /spec/template" + label);
    EXPECT_EQ(operations(write_part("u", false, 3)),
              "test /metadata/uid\nadd /spec/template" + label + "add /spec/replicas\n");
    EXPECT_EQ(operations(write_pod_part("u", false)), "test /metadata/uid\nadd " + label);
    EXPECT_NE(write_pod_part("u", false).find(R"("value":"out")"), std::string::npos);
}

}  // namespace
}  // namespace tessera::workload

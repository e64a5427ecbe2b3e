#include "wire/host_resources.hpp"

#include <gtest/gtest.h>

#include "wire/kube_objects.hpp"

namespace tessera {
namespace {

HostAsk ask_of_spec(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return read_host_ask(document->root());
}

// Goal: what the scheduler counts: containers together, or an init container with the sidecars that
// began before it, the overhead, the pod's own amounts in place of its containers'.
TEST(HostResources, OfAPod) {
    struct Case {
        const char* spec;
        std::int64_t cpu_milli;
        std::int64_t mib;
    };
    for (
        const Case& c : {
            Case{R"({})", 0, 0},
            {R"({"containers":[{"resources":{"requests":{"cpu":"1.5","memory":"1Gi"}}},
                                {"resources":{"requests":{"cpu":"250m"}}},{}]})",
             1'750, 1'024},
            {R"({"containers":[{"resources":{"limits":{"cpu":"1"}}}]})", 0, 0},
            {R"({"containers":[{"resources":{"requests":{"cpu":2}}}]})", 2'000, 0},
            {R"({"initContainers":[{"resources":{"requests":{"cpu":"4"}}}],
                  "containers":[{"resources":{"requests":{"cpu":"1","memory":"1Mi"}}}]})",
             4'000, 1},
            {R"({"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                                    {"resources":{"requests":{"cpu":"4"}}}],
                  "containers":[{"resources":{"requests":{"cpu":"1"}}}]})",
             5'000, 0},
            {R"({"initContainers":[
                    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
                  "containers":[{"resources":{"requests":{"cpu":"1"}}}],
                  "overhead":{"cpu":"100m"}})",
             2'100, 0},
            {R"({"resources":{"requests":{"cpu":"3"}},
                  "containers":[{"resources":{"requests":{"cpu":"1","memory":"2Mi"}}}]})",
             3'000, 2},
            {R"({"containers":[{"resources":{"requests":{"cpu":"a lot","memory":"-1"}}},"odd",7]})",
             0, 0},
        }) {
        EXPECT_EQ(ask_of_spec(c.spec), (HostAsk{c.cpu_milli, mebibytes(c.mib)})) << c.spec;
    }
}

// Goal: sums of foreign amounts do not overflow.
TEST(HostResources, ImpossibleAmounts) {
    const HostAsk ask = ask_of_spec(
        R"({"containers":[{"resources":{"requests":{"cpu":"9P","memory":"9E"}}},
                          {"resources":{"requests":{"cpu":"9P","memory":"9E"}}}]})");
    EXPECT_GE(ask.cpu_milli, 0);
    EXPECT_GE(ask.memory, Bytes{});
}

// Goal: a pod and a node carry them, with when the pod was made and by which policy it wants to be
// placed.
TEST(HostResources, OfObjects) {
    const auto pod = JsonDocument::parse(
        R"({"metadata":{"creationTimestamp":"2026-11-23T08:00:00Z",
                        "annotations":{"tessera.dev/placement-policy":"spread"}},
            "spec":{"containers":[{"resources":{"limits":{"tessera.dev/gpu":"1"},
                                                "requests":{"cpu":"1"}}}]}})");
    const PodFacts facts = read_pod(pod->root());
    EXPECT_EQ(facts.host.cpu_milli, 1'000);
    EXPECT_EQ(facts.created, "2026-11-23T08:00:00Z");
    EXPECT_EQ(facts.policy, "spread");
    const auto node = JsonDocument::parse(
        R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"8"},
            "allocatable":{"cpu":"7500m","memory":"16384Ki"}}})");
    EXPECT_EQ(read_node(node->root()).host, (HostAsk{7'500, mebibytes(16)}));
}

}  // namespace
}  // namespace tessera

#include "wire/kube/host_resources.hpp"

#include <gtest/gtest.h>

#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

HostRequest request_of_spec(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return read_host_request(document->root());
}

// Goal: what kube-scheduler counts: containers together, or an init container with the sidecars
// that began before it; the overhead; the pod's own amounts in place of its containers'.
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
        EXPECT_EQ(request_of_spec(c.spec), (HostRequest{c.cpu_milli, mebibytes(c.mib)})) << c.spec;
    }
}

// Goal: sums of arbitrary amounts do not overflow.
TEST(HostResources, ImpossibleAmounts) {
    const HostRequest request = request_of_spec(
        R"({"containers":[{"resources":{"requests":{"cpu":"9P","memory":"9E"}}},
                          {"resources":{"requests":{"cpu":"9P","memory":"9E"}}}]})");
    EXPECT_GE(request.cpu_milli, 0);
    EXPECT_GE(request.memory, Bytes{});
}

// Goal: pods and nodes have these amounts, and pods their creation time and placement policy.
TEST(HostResources, OfObjects) {
    const auto pod = JsonDocument::parse(
        R"({"metadata":{"creationTimestamp":"2026-11-23T08:00:00Z",
                        "annotations":{"tessera.dev/placement-policy":"spread"}},
            "spec":{"containers":[{"resources":{"limits":{"tessera.dev/gpu":"1"},
                                                "requests":{"cpu":"1"}}}]}})");
    const PodInfo info = read_pod(pod->root());
    EXPECT_EQ(info.host.cpu_milli, 1'000);
    EXPECT_EQ(info.created, "2026-11-23T08:00:00Z");
    EXPECT_EQ(info.policy, "spread");
    const auto node = JsonDocument::parse(
        R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"8"},
            "allocatable":{"cpu":"7500m","memory":"16384Ki"}}})");
    EXPECT_EQ(read_node(node->root()).host, (HostRequest{7'500, mebibytes(16)}));
}

}  // namespace
}  // namespace tessera

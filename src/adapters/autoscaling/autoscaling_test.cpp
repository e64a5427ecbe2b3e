#include <gtest/gtest.h>

#include "adapters/autoscaling/agent_metrics.hpp"
#include "adapters/autoscaling/kube_measured_pods.hpp"
#include "adapters/autoscaling/kube_metrics_registrations.hpp"
#include "adapters/autoscaling/pod_request_counts.hpp"
#include "adapters/kube/scripted_server_test.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "wire/tessera/share_uses_json.hpp"

namespace tessera {
namespace {

constexpr const char* kAgents = "GET /api/v1/namespaces/t/pods";

std::string agent(const std::string& node, int port) {
    return R"({"spec":{"nodeName":")" + node +
           R"(","containers":[{"ports":[{"name":"metrics","containerPort":)" +
           std::to_string(port) + R"(}]}]},"status":{"phase":"Running","podIP":"127.0.0.1"}})";
}

std::string list(const std::string& items) {
    return R"({"metadata":{"resourceVersion":"1"},"items":[)" + items + "]}";
}

std::string shares_of(const char* node) {
    ShareUse use;
    use.pod = PodUid("u");
    use.container = "main";
    use.gpu = GpuUuid("GPU-a");
    use.processes = {{.pid = 7, .used = {1}}};
    return write_share_uses({NodeName(node), {use}});
}

// Goal: each agent is asked at its own address; one that does not answer, or answers for another
// node, is left out.
TEST(AgentMetrics, AsksEachAgent) {
    ScriptedServer api;
    ScriptedServer first;
    ScriptedServer second;
    ScriptedServer broken;
    first.answer("GET /shares", 200, shares_of("n1"));
    second.answer("GET /shares", 200, shares_of("n1"));
    broken.answer("GET /shares", 200, "{");
    api.answer(kAgents, 200,
               list(agent("n1", first.endpoint().port) + "," + agent("n2", second.endpoint().port) +
                    "," + agent("n3", broken.endpoint().port) + "," + agent("n4", 1)));
    FakeClock clock;
    AgentMetrics agents(api.client(), clock, "t");
    for (int i = 0; i < 2; ++i) {
        const auto reports = agents.read({});
        ASSERT_TRUE(reports) << reports.error().text;
        ASSERT_EQ(reports->size(), 1U);
        EXPECT_EQ(reports->front().node, NodeName("n1"));
        EXPECT_EQ(reports->front().at, clock.steady());
        ASSERT_EQ(reports->front().shares.size(), 1U);
        EXPECT_TRUE(reports->front().shares[0].processes.empty());
    }
}

// Goal: the error says what to set if no agent has a port; no agents at all are no error.
TEST(AgentMetrics, NoPorts) {
    ScriptedServer api;
    api.answer(kAgents, 200,
               list(R"({"spec":{"nodeName":"n1","containers":[{}]},)"
                    R"("status":{"phase":"Running","podIP":"127.0.0.1"}})"));
    api.answer(kAgents, 200, list(""));
    api.answer(kAgents, 503, "{}");
    FakeClock clock;
    AgentMetrics agents(api.client(), clock, "t");
    const auto closed = agents.read({});
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, Code::unsupported);
    EXPECT_NE(closed.error().text.find("agent.listen=true"), std::string::npos);
    EXPECT_TRUE(agents.read({}).value().empty());
    EXPECT_EQ(agents.read({}).error().code, Code::unavailable);
}

// Goal: a pod's counter is read at its own address; one that answers too much, or no number, or
// not at all, is left out.
TEST(PodRequestCounts, ReadsCounters) {
    ScriptedServer good;
    ScriptedServer large;
    ScriptedServer other;
    good.answer("GET /m", 200, "n{a=\"b\"} 4\nn 3\n");
    large.answer("GET /m", 200, "n 1\n" + std::string(std::size_t{2} << 20, '#'));
    other.answer("GET /m", 200, "m 1\n");
    const auto pod = [](const char* uid, int port) {
        return MeasuredPod{uid, PodUid(uid), "127.0.0.1", RequestCounter{port, "/m", "n"}};
    };
    FakeClock clock;
    const std::vector pods{pod("good", good.endpoint().port), pod("large", large.endpoint().port),
                           pod("other", other.endpoint().port), pod("none", 1),
                           MeasuredPod{"bare", PodUid("bare"), "127.0.0.1", {}}};
    const auto counts = PodRequestCounts(clock).read(pods, {});
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts[0].pod, PodUid("good"));
    EXPECT_EQ(counts[0].milli, 7'000);
    EXPECT_EQ(large.requests().size(), 1U);
}

// Goal: pods by a selector, which is the API server's to understand, or by name.
TEST(KubeMeasuredPods, AreFound) {
    ScriptedServer api;
    const std::string pod =
        R"({"metadata":{"name":"a","uid":"u-a","annotations":{"tessera.dev/request-counter":)"
        R"("80/m n"}},"status":{"phase":"Running","podIP":"10.0.0.1"}})";
    const MeasuredPod a{"a", PodUid("u-a"), "10.0.0.1", RequestCounter{80, "/m", "n"}};
    api.answer("GET /api/v1/namespaces/team/pods", 200, list(pod));
    api.answer("GET /api/v1/namespaces/team/pods", 400, R"({"message":"bad"})");
    api.answer("GET /api/v1/namespaces/team/pods/a", 200, pod);
    KubeMeasuredPods pods(api.client());
    const auto found = pods.select("team", "app in (a,b)");
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(*found, std::vector{a});
    EXPECT_NE(api.requests().front().query.find("labelSelector=app%20in%20%28a%2Cb%29"),
              std::string::npos);
    EXPECT_EQ(pods.select("team", "=").error().code, Code::invalid_argument);
    EXPECT_EQ(pods.get("team", "a").value(), a);
    EXPECT_EQ(pods.get("team", "b").error().code, Code::not_found);
}

// Goal: a registration is made with its role as owner, and not without the role.
TEST(KubeMetricsRegistrations, Writes) {
    constexpr const char* kPost = "POST /apis/apiregistration.k8s.io/v1/apiservices";
    constexpr const char* kRole =
        "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/tessera-custom-metrics";
    constexpr const char* kPatch =
        "PATCH /apis/apiregistration.k8s.io/v1/apiservices/v1beta2.custom.metrics.k8s.io";
    ScriptedServer api;
    KubeMetricsRegistrations registrations(api.client());
    const MetricsRegistration ours{
        .version = "v1beta2", .service = "t/c", .certificates = "PEM", .revision = "7"};
    EXPECT_EQ(registrations.create(ours).error().code, Code::not_found);
    EXPECT_EQ(api.requests().size(), 1U);
    api.answer(kRole, 200, R"({"metadata":{"uid":"u-1"}})");
    api.answer(kPost, 201, "{}");
    api.answer(kPost, 409, R"({"message":"exists"})");
    api.answer(kPatch, 200, "{}");
    ASSERT_TRUE(registrations.create(ours));
    EXPECT_NE(api.requests().back().body.find(R"("uid":"u-1")"), std::string::npos);
    EXPECT_EQ(registrations.create(ours).error().code, Code::conflict);
    ASSERT_TRUE(registrations.trust(ours, "NEW"));
    EXPECT_FALSE(registrations.read("v1beta1").value().has_value());
    EXPECT_EQ(registrations.front_proxy().error().code, Code::not_found);
}

}  // namespace
}  // namespace tessera

#include "adapters/kube/doctor_reader.hpp"

#include <gtest/gtest.h>

#include "adapters/http/certificate.hpp"
#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

constexpr const char* kSpace = "/api/v1/namespaces/tessera-system/";
constexpr const char* kPolicies = "GET /apis/admissionregistration.k8s.io/v1/";
constexpr const char* kApps = "GET /apis/apps/v1/namespaces/tessera-system/";
constexpr const char* kLease =
    "GET /apis/coordination.k8s.io/v1/namespaces/tessera-system/leases/tessera-controller";

// 32 bytes of zero, in hexadecimal, as a Secret has them.
const std::string kKeys =
    "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw"
    "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMAo=";

std::string list_of(const std::string& items) {
    return R"({"metadata":{"resourceVersion":"1"},"items":[)" + items + "]}";
}

void add_workloads(ScriptedServer& server) {
    server.answer("GET /version", 200, R"({"gitVersion":"v1.36.3"})");
    const std::string container =
        R"("containers":[{"image":"r/c:0.1.0","args":["--allocation-key-file=/k"]}])";
    server.answer(std::string(kApps) + "deployments/tessera-controller", 200,
                  R"({"spec":{"replicas":2,"template":{"spec":{)" + container +
                      R"(}}},"status":{"readyReplicas":1,"unavailableReplicas":1}})");
    server.answer(std::string(kApps) + "daemonsets/tessera-agent", 200,
                  R"({"spec":{"template":{"spec":{"nodeSelector":{"gpushare":"true"},)" +
                      container + R"(}}},"status":{"desiredNumberScheduled":1,"numberReady":1}})");
    for (const char* version : {"7", "7", "8"}) {
        server.answer(kLease, 200,
                      std::string(R"({"metadata":{"resourceVersion":")") + version +
                          R"("},"spec":{"holderIdentity":"a"}})");
    }
}

void add_trust(ScriptedServer& server) {
    const std::string key = std::string("GET ") + kSpace + "secrets/tessera-allocation-key";
    server.answer(key, 200, R"({"data":{"keys":")" + kKeys + R"("}})");
    server.answer(
        std::string(kPolicies) + "validatingadmissionpolicies/tessera-immutable-allocations", 200,
        "{}");
    server.answer(std::string(kPolicies) + "validatingadmissionpolicybindings", 200,
                  list_of(R"({"spec":{"policyName":"tessera-immutable-allocations",)"
                          R"("validationActions":["Deny"]}})"));
    server.answer("GET /api/v1/namespaces/kube-system/pods", 200,
                  list_of(R"({"spec":{"containers":[{"command":["s"]}]}},)"
                          R"({"spec":{"containers":[{"command":["s","--config=/x"]}]}})"));
    server.answer(std::string("GET ") + kSpace + "secrets", 200,
                  list_of(R"({"metadata":{"name":"tls"},"data":{"tls.crt":"bm8="}})"));
}

void add_pods_and_nodes(ScriptedServer& server) {
    server.answer(
        "GET /api/v1/pods", 200,
        list_of(R"({"metadata":{"name":"agent","namespace":"tessera-system","uid":"1",)"
                R"("labels":{"app.kubernetes.io/name":"tessera",)"
                R"("app.kubernetes.io/component":"agent"}},"spec":{"nodeName":"n1",)"
                R"("containers":[{"image":"agent:1"}]},"status":{"phase":"Running",)"
                R"("conditions":[{"type":"Ready","status":"True"}]}},)"
                R"({"metadata":{"name":"p","namespace":"d","uid":"2","annotations":)"
                R"({"tessera.dev/allocation":"{}"}},"spec":{"nodeName":"n1","containers":[)"
                R"({"resources":{"limits":{"aliyun.com/gpu-mem":"3"}}}]}})"));
    const std::string slice = R"({"spec":{"driver":"gpu.nvidia.com","nodeName":"n1"}})";
    server.answer("GET /apis/resource.k8s.io/v1/resourceslices", 200, list_of(slice + "," + slice));
    server.answer("GET /apis/resource.k8s.io/v1/resourceclaims", 200,
                  list_of(R"({"metadata":{"name":"c","namespace":"d"},"status":{"allocation":)"
                          R"({"devices":{"results":[{"driver":"gpu.nvidia.com","pool":"n1"},)"
                          R"({"driver":"gpu.nvidia.com","pool":"n1"}]}}}},)"
                          R"({"metadata":{"name":"open","namespace":"d"}})"));
    server.answer("GET /apis/nvidia.com/v1/clusterpolicies", 200,
                  list_of(R"({"metadata":{"name":"p"},"spec":{"cdi":{"nriPluginEnabled":true}}})"));
    server.answer("GET /apis/node.k8s.io/v1/runtimeclasses", 200,
                  list_of(R"({"metadata":{"name":"nvidia"}})"));
    server.answer(
        "GET /api/v1/nodes", 200,
        list_of(R"({"metadata":{"name":"n1","labels":{"gpushare":"true"},)"
                R"("annotations":{"tessera.dev/gpus":"x"}},"status":{"allocatable":)"
                R"({"tessera.dev/gpu-share":"64"},"capacity":{"nvidia.com/gpu":"1","cpu":"8",)"
                R"("volcano.sh/vgpu-number":"10","nvidia.com/mig-1g.5gb":"0"}}},)"
                R"({"metadata":{"name":"n2"}})"));
}

// Goal: the facts are those of the API server: workloads, the Lease as it changes, agents by node,
// pods with their images, the key, policies with their bindings.
TEST(DoctorReader, ReadsTheCluster) {
    ScriptedServer server;
    add_workloads(server);
    add_trust(server);
    add_pods_and_nodes(server);
    const doctor::Facts facts = read_doctor_facts(server.client(), {.own_version = "0.1.0"});
    EXPECT_EQ(*facts.api_version, "v1.36.3");
    EXPECT_EQ(facts.controller->wanted, 2);
    EXPECT_EQ(facts.controller->ready, 1);
    EXPECT_EQ(facts.controller->unavailable, 1);
    EXPECT_TRUE(facts.controller->signs);
    EXPECT_EQ(facts.agents->image, "r/c:0.1.0");
    EXPECT_TRUE(facts.lease->renewed);
    EXPECT_TRUE(facts.key->has_value() && (*facts.key)->has_value());
    EXPECT_TRUE(facts.policies->at(0).exists && facts.policies->at(0).denies);
    EXPECT_FALSE(facts.policies->at(1).exists || facts.policies->at(1).denies);
    EXPECT_EQ(*facts.scheduler_commands,
              (std::vector<std::vector<std::string>>{
                  std::vector<std::string>{"s"}, std::vector<std::string>{"s", "--config=/x"}}));
    ASSERT_EQ(facts.nodes->size(), 2U);
    const doctor::Node& n1 = facts.nodes->at(0);
    EXPECT_TRUE(n1.wants_agent && n1.agent_ready && n1.has_report);
    EXPECT_FALSE(n1.inventory.fault.empty());
    EXPECT_EQ(n1.slots, 64);
    EXPECT_EQ(n1.foreign_amounts, (std::map<std::string, std::int64_t>{
                                      {"nvidia.com/gpu", 1}, {"volcano.sh/vgpu-number", 10}}));
    EXPECT_EQ(*facts.slices, (std::vector<doctor::Slice>{{"gpu.nvidia.com", NodeName("n1")}}));
    EXPECT_FALSE(facts.nodes->at(1).wants_agent || facts.nodes->at(1).agent_ready);
    ASSERT_EQ(facts.pods->size(), 2U);
    EXPECT_EQ(facts.pods->at(0).programs, (std::vector<doctor::Program>{{"agent:1", ""}}));
    EXPECT_EQ(*facts.claims, (std::vector<doctor::Claim>{{"d/c", "gpu.nvidia.com", "n1"}}));
    ASSERT_EQ(facts.operators->size(), 1U);
    EXPECT_TRUE(facts.operators->front().has_nri_plugin);
    EXPECT_TRUE(facts.runtime_classes->contains("nvidia"));
    ASSERT_TRUE(facts.pods->at(1).info.allocation);
    EXPECT_EQ(facts.pods->at(1).info.allocation->error().code, Code::permission_denied)
        << "with the key, what it has not signed is an error";
    ASSERT_EQ(facts.certificates->size(), 1U);
    EXPECT_EQ(facts.certificates->at(0).where, "Secret tls");
    EXPECT_FALSE(facts.certificates->at(0).ends_s);
}

// Goal: an agent that has a port and does not answer on it is named; not one without a port, nor
// one that we may not call.
TEST(DoctorReader, AsksTheAgents) {
    const auto agent = [](const std::string& name, const std::string& ports) {
        return R"({"metadata":{"name":"a-)" + name + R"("},"spec":{"nodeName":")" + name +
               R"(","containers":[{"ports":[)" + ports + R"(]}]},"status":{"phase":"Running"}})";
    };
    const std::string port = R"({"name":"metrics","containerPort":9})";
    const std::string pods = std::string("GET ") + kSpace + "pods";
    ScriptedServer server;
    server.answer(pods, 200,
                  list_of(agent("n1", port) + "," + agent("n2", port) + "," + agent("n3", port) +
                          "," + agent("n4", "")));
    server.answer(pods + "/a-n1:9/proxy/shares", 200, R"({"version":1,"node":"n1","shares":[]})");
    server.answer(pods + "/a-n2:9/proxy/shares", 503, R"({"message":"connection refused"})");
    server.answer(pods + "/a-n3:9/proxy/shares", 403, "{}");
    const doctor::Facts facts = read_doctor_facts(server.client(), {});
    ASSERT_TRUE(facts.asked) << facts.asked.error().text;
    EXPECT_EQ(facts.asked->answered, 1);
    ASSERT_EQ(facts.asked->silent.size(), 1U);
    EXPECT_EQ(facts.asked->silent[0].node, NodeName("n2"));
    EXPECT_NE(facts.asked->silent[0].reason.find("connection refused"), std::string::npos)
        << facts.asked->silent[0].reason;
}

// Goal: a missing permission is named in the words of RBAC.
TEST(DoctorReader, NamesMissingRights) {
    ScriptedServer server;
    server.answer("GET /version", 200, R"({"gitVersion":"v1.36.3"})");
    server.answer(kLease, 403, "{}");
    server.answer("GET /api/v1/pods", 403, "{}");
    const doctor::Facts facts = read_doctor_facts(server.client(), {});
    EXPECT_EQ(facts.lease.error(),
              (Error{Code::permission_denied, "get leases.coordination.k8s.io in tessera-system"}));
    EXPECT_EQ(facts.pods.error(), (Error{Code::permission_denied, "list pods"}));
    EXPECT_EQ(facts.controller.error().code, Code::not_found);
    EXPECT_FALSE(facts.key->has_value()) << "no such Secret";
}

// Goal: the end of a certificate, as OpenSSL prints it.
TEST(Certificate, End) {
    constexpr const char* kPem = R"(-----BEGIN CERTIFICATE-----
MIIBbjCCAROgAwIBAgIUddDwC9fALv1t1iPA0uGgSGehsKswCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBeDAeFw0yNjExMjEyMTQ4MzNaFw0yNjEyMjEyMTQ4MzNaMAwx
CjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQo7gXx0EqFPTti
Hii8kRMA3axariYZwdHN2MrXTj6lWJ0xgHiDw/MYGF9D5n9wUb+wj96WJrDZRT2J
5x6qojSmo1MwUTAdBgNVHQ4EFgQUlqTIdFA8zmAvY/eINePI3SRFp6EwHwYDVR0j
BBgwFoAUlqTIdFA8zmAvY/eINePI3SRFp6EwDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNJADBGAiEA1MkbUxppLvxXnz39uSRUcRLOxBtKACGCYK/qxCmd6/wC
IQDRWj9ZUjc+Z7GDAUdw0Tnt7+StgX/mx9vCgbT9emN9qQ==
-----END CERTIFICATE-----
)";
    const auto end = certificate_end(kPem);
    ASSERT_TRUE(end);
    EXPECT_EQ(*end, 1797889713);  // Dec 21 21:48:33 2026 GMT
    EXPECT_FALSE(certificate_end("nothing"));
}

}  // namespace
}  // namespace tessera

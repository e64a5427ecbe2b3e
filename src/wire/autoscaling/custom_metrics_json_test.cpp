#include "wire/autoscaling/custom_metrics_json.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

using Request = MetricsRequest;

struct Row {
    const char* path;  // below /apis/custom.metrics.k8s.io
    const char* query;
    std::optional<Request> request;
    Code code = Code::not_found;
};

Request values(const char* pod, PodMetric metric, const char* selector) {
    return {MetricsResource::values, "team", pod, metric, selector};
}

// Goal: the requests of HPA controllers and of discovery, and what is none of them.
TEST(CustomMetricsJson, Requests) {
    const std::vector<Row> rows = {
        {"", "", Request{}},
        {"/v1beta2", "", Request{.resource = MetricsResource::version}},
        {"/v1beta2/namespaces/team/pods/*/tessera_gpu_compute_use",
         "labelSelector=app%3Da%2Cb+in+%28c%29&metricLabelSelector=",
         values("", PodMetric::compute_use, "app=a,b in (c)")},
        {"/v1beta2/namespaces/team/pods/web-0.a/tessera_gpu_memory_use", "",
         values("web-0.a", PodMetric::memory_use, "")},
        {"/v1beta2/namespaces/team/pods/*/tessera_gpu_memory_use",
         "&&labelSelector&label%53elector=a%zz%&labelSelector=b",
         values("", PodMetric::memory_use, "a%zz%")},
        {"/v1beta2/namespaces/team/pods/*/other", "", {}},
        {"/v1beta2/namespaces/team/pods/*/tessera_gpu_memory_use",
         "metricLabelSelector=a%3Db",
         {},
         Code::invalid_argument},
        {"/v1beta1", "", {}},
        {"/", "", {}},
        {"x", "", {}},
        {"/v1beta2/namespaces/team/pods/*", "", {}},
        {"/v1beta2/namespaces/team/pods/*/tessera_gpu_memory_use/x", "", {}},
        {"/v1beta2/namespaces/team/services/*/tessera_gpu_memory_use", "", {}},
        {"/v1beta2/nodes/n1/tessera_gpu_memory_use", "", {}},
        {"/v1beta2/namespaces/../pods/*/tessera_gpu_memory_use", "", {}},
        {"/v1beta2/namespaces/a?b/pods/*/tessera_gpu_memory_use", "", {}},
        {"/v1beta2/namespaces/team/pods/a b/tessera_gpu_memory_use", "", {}},
    };
    for (const Row& row : rows) {
        const auto read =
            read_metrics_request(std::string("/apis/custom.metrics.k8s.io") + row.path, row.query);
        ASSERT_EQ(read.has_value(), row.request.has_value()) << row.path;
        if (read) {
            EXPECT_EQ(*read, *row.request) << row.path;
        } else {
            EXPECT_EQ(read.error().code, row.code) << row.path;
        }
    }
    EXPECT_FALSE(read_metrics_request("/apis/\xff", ""));
}

// Goal: the discovery names the one version and each metric.
TEST(CustomMetricsJson, Discovery) {
    EXPECT_EQ(write_metrics_group(),
              R"({"kind":"APIGroup","apiVersion":"v1","name":"custom.metrics.k8s.io","versions":[)"
              R"({"groupVersion":"custom.metrics.k8s.io/v1beta2","version":"v1beta2"}],)"
              R"("preferredVersion":{"groupVersion":"custom.metrics.k8s.io/v1beta2",)"
              R"("version":"v1beta2"}})");
    const auto list = JsonDocument::parse(write_metrics_resources());
    ASSERT_TRUE(list);
    const auto resources = list->root()["resources"].elements();
    ASSERT_EQ(resources.size(), kPodMetrics.size());
    EXPECT_EQ(resources[0]["name"].text(), "pods/tessera_gpu_compute_use");
    EXPECT_TRUE(resources[0]["namespaced"].is_true());
    EXPECT_EQ(list->root()["groupVersion"].text(), "custom.metrics.k8s.io/v1beta2");
}

// Goal: values, as an HPA controller reads them.
TEST(CustomMetricsJson, Values) {
    const std::vector<NamedMetricValue> found = {{"a", {1'767'225'600, 30, 61'500}},
                                                 {"b", {1'767'225'601, 0, 7'000}}};
    EXPECT_EQ(write_metric_values("team", PodMetric::compute_use, found),
              R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2",)"
              R"("metadata":{},"items":[{"describedObject":{"kind":"Pod","namespace":"team",)"
              R"("name":"a","apiVersion":"/v1"},"metric":{"name":"tessera_gpu_compute_use"},)"
              R"("timestamp":"2026-01-01T00:00:00Z","windowSeconds":30,"value":"61500m"},)"
              R"({"describedObject":{"kind":"Pod","namespace":"team","name":"b",)"
              R"("apiVersion":"/v1"},"metric":{"name":"tessera_gpu_compute_use"},)"
              R"("timestamp":"2026-01-01T00:00:01Z","windowSeconds":0,"value":"7"}]})");
    EXPECT_EQ(write_failure({Code::not_found, "no \"x\""}),
              R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
              R"("message":"no \"x\"","reason":"NotFound","code":404})");
}

// Goal: which clients may pass requests on; damaged text allows none.
TEST(CustomMetricsJson, FrontProxy) {
    struct Text {
        const char* json;
        FrontProxy proxy;
        bool allows_a;
    };
    const std::vector<Text> texts = {
        {R"({"data":{"requestheader-client-ca-file":"CA","requestheader-allowed-names":"[\"a\"]"}})",
         {"CA", {"a"}},
         true},
        {R"({"data":{"requestheader-client-ca-file":"CA","requestheader-allowed-names":"[\"b\"]"}})",
         {"CA", {"b"}},
         false},
        {R"({"data":{"requestheader-client-ca-file":"CA","requestheader-allowed-names":"[]"}})",
         {"CA", {}},
         true},
        {R"({"data":{"requestheader-client-ca-file":"CA"}})", {"CA", {}}, true},
        {R"({"data":{"requestheader-client-ca-file":"CA","requestheader-allowed-names":"a"}})",
         {},
         false},
        {R"({"data":{"requestheader-client-ca-file":"CA","requestheader-allowed-names":"{}"}})",
         {},
         false},
        {R"({"data":{"client-ca-file":"CA"}})", {}, false},
        {"{}", {}, false},
        {"[]", {}, false},
    };
    for (const Text& text : texts) {
        const auto document = JsonDocument::parse(text.json);
        ASSERT_TRUE(document) << text.json;
        const FrontProxy read = read_front_proxy(document->root());
        EXPECT_EQ(read, text.proxy) << text.json;
        EXPECT_EQ(read.allows("a"), text.allows_a) << text.json;
        EXPECT_EQ(read.allows(""), text.allows_a && read.names.empty()) << text.json;
    }
}

// Goal: what is written is read again, and the registration goes with its role.
TEST(CustomMetricsJson, Registration) {
    const MetricsRegistration ours{
        .version = "v1beta2", .service = "t/c", .certificates = "PEM", .revision = {}};
    const auto written = JsonDocument::parse(write_metrics_registration(ours, {"role", "u-1"}));
    ASSERT_TRUE(written);
    EXPECT_EQ(read_metrics_registration(written->root()), ours);
    EXPECT_EQ(written->root()["metadata"]["name"].text(), "v1beta2.custom.metrics.k8s.io");
    const auto owners = written->root()["metadata"]["ownerReferences"].elements();
    ASSERT_EQ(owners.size(), 1U);
    EXPECT_EQ(owners[0]["uid"].text(), "u-1");
    const auto local = JsonDocument::parse(R"({"spec":{"version":"v1beta1","service":null}})");
    EXPECT_EQ(read_metrics_registration(local->root()).service, "");
    MetricsRegistration read = ours;
    read.revision = "9";
    EXPECT_EQ(write_registration_trust(read, "NEW"),
              R"([{"op":"test","path":"/metadata/resourceVersion","value":"9"},)"
              R"({"op":"add","path":"/spec/caBundle","value":"TkVX"}])");
}

}  // namespace
}  // namespace tessera

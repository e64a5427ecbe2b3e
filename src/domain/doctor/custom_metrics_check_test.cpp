#include "domain/doctor/custom_metrics_check.hpp"

#include <gtest/gtest.h>

namespace tessera::doctor {
namespace {

struct Row {
    bool is_on;
    std::vector<MetricsApi> apis;
    int answered;  // agents
    Status status;
    const char* found;
};

const MetricsApi kOurs{"v1beta2.custom.metrics.k8s.io", "t/tessera-controller", true, ""};

// Goal: another adapter is named, and so is why the API gives no values.
TEST(CustomMetricsCheck, Judges) {
    MetricsApi away = kOurs;
    away.is_available = false;
    away.reason = "no endpoints";
    const MetricsApi other{"v1beta1.custom.metrics.k8s.io", "monitoring/adapter", true, ""};
    const MetricsApi local{"v1beta1.custom.metrics.k8s.io", "", true, ""};
    const std::vector<Row> rows = {
        {false, {other}, 1, Status::ok, "off (controller.customMetrics of the Helm chart)"},
        {true, {kOurs}, 1, Status::ok, "APIService v1beta2.custom.metrics.k8s.io is available"},
        {true,
         {kOurs, other},
         1,
         Status::warning,
         "APIService v1beta1.custom.metrics.k8s.io belongs to monitoring/adapter, and is left "
         "alone"},
        {true,
         {local},
         1,
         Status::warning,
         "APIService v1beta1.custom.metrics.k8s.io belongs to the API server, and is left alone"},
        {true, {}, 1, Status::failed, "no controller has registered the API"},
        {true,
         {away},
         1,
         Status::failed,
         "APIService v1beta2.custom.metrics.k8s.io is not available: no endpoints"},
        {true,
         {kOurs},
         0,
         Status::warning,
         "APIService v1beta2.custom.metrics.k8s.io is available, but no agent has a port for the "
         "use of GPUs"},
    };
    for (const Row& row : rows) {
        Facts facts;
        facts.ns = "t";
        facts.controller = Workload{.custom_metrics = row.is_on};
        facts.metrics_apis = row.apis;
        facts.asked = AskedAgents{.answered = row.answered, .silent = {}};
        const Judgement judged = custom_metrics(facts);
        EXPECT_EQ(judged.status, row.status) << row.found;
        EXPECT_EQ(judged.found, row.found);
        EXPECT_EQ(judged.fix.empty(), row.status == Status::ok) << row.found;
    }
}

// Goal: a missing permission is named.
TEST(CustomMetricsCheck, WithoutTheRight) {
    Facts facts;
    facts.controller = Workload{.custom_metrics = true};
    facts.metrics_apis = fail(Code::permission_denied, "get apiservices");
    EXPECT_EQ(custom_metrics(facts).found, "needs the right to get apiservices");
    facts.controller = fail(Code::permission_denied, "get deployments");
    EXPECT_EQ(custom_metrics(facts).status, Status::skipped);
}

}  // namespace
}  // namespace tessera::doctor

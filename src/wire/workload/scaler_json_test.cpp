#include "wire/workload/scaler_json.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

Serving job() {
    Serving out;
    out.id = {"half", "v1", ServingType::tensorflow};
    out.ns = "team";
    out.scaling = Scaling{.least = 1, .most = 4, .gpu_use = 60, .scale_down_delay_s = 30};
    return out;
}

JsonDocument parsed(const std::string& text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

// Goal: the object that the HPA controller follows, and the changes of an update.
TEST(ScalerJson, Writes) {
    const JsonDocument written = parsed(write_scaler(job(), "u-1"));
    const JsonValue root = written.root();
    EXPECT_EQ(root["apiVersion"].text(), "autoscaling/v2");
    EXPECT_EQ(root["metadata"]["name"].text(), "half-v1-tensorflow-serving");
    EXPECT_EQ(root["metadata"]["labels"]["tessera.dev/serving-name"].text(), "half");
    EXPECT_EQ(root["metadata"]["ownerReferences"].elements().at(0)["uid"].text(), "u-1");
    EXPECT_EQ(root["spec"]["scaleTargetRef"]["name"].text(), "half-v1-tensorflow-serving");
    Serving both = job();
    both.scaling->request_rate = 100;
    const JsonDocument two = parsed(write_scaler(both, ""));
    const auto metrics = two.root()["spec"]["metrics"].elements();
    ASSERT_EQ(metrics.size(), 2U);
    EXPECT_EQ(metrics[1]["pods"]["metric"]["name"].text(), "tessera_serving_requests_per_second");
    EXPECT_EQ(metrics[1]["pods"]["target"]["averageValue"].text(), "100");
    EXPECT_EQ(write_scaler_update(job()),
              R"({"spec":{"minReplicas":1,"maxReplicas":4,"metrics":[{"type":"Pods","pods":{)"
              R"("metric":{"name":"tessera_gpu_compute_use"},"target":{"type":"AverageValue",)"
              R"("averageValue":"60"}}}],"behavior":{"scaleDown":{)"
              R"("stabilizationWindowSeconds":30}}}})");
}

struct Row {
    const char* what;
    std::string json;
    ScalingStatus status;
};

// Goal: bounds, targets, what they are compared with, and why the number of pods stays.
TEST(ScalerJson, Reads) {
    const std::string spec = R"("spec":{"minReplicas":2,"maxReplicas":4,"metrics":[)"
                             R"({"type":"Pods","pods":{"metric":{"name":"m"},)"
                             R"("target":{"type":"AverageValue","averageValue":"60"}}}]})";
    const auto with = [&](const std::string& status) {
        return "{" + spec + R"(,"status":{)" + status + "}}";
    };
    const auto condition = [](const std::string& type, const std::string& is,
                              const std::string& message) {
        return R"({"type":")" + type + R"(","status":")" + is + R"(","message":")" + message +
               R"("})";
    };
    const std::vector<Row> rows = {
        {"new", "{" + spec + "}", {2, 4, 0, {{"m", "60", ""}}, ""}},
        {"scales",
         with(R"("desiredReplicas":3,"currentMetrics":[{"type":"Pods","pods":{)"
              R"("metric":{"name":"m"},"current":{"averageValue":"95500m"}}},{"type":""}])"),
         {2, 4, 3, {{"m", "60", "95500m"}}, ""}},
        {"no metric",
         with(R"("conditions":[)" + condition("ScalingLimited", "True", "limit") + "," +
              condition("ScalingActive", "False", "no metrics") + "]"),
         {2, 4, 0, {{"m", "60", ""}}, "no metrics"}},
        {"cannot",
         with(R"("conditions":[)" + condition("AbleToScale", "False", "no scale") + "]"),
         {2, 4, 0, {{"m", "60", ""}}, "no scale"}},
        {"at its limit",
         with(R"("conditions":[)" + condition("AbleToScale", "True", "ok") + "," +
              condition("ScalingLimited", "True", "limit") + "]"),
         {2, 4, 0, {{"m", "60", ""}}, "limit"}},
        {"not limited",
         with(R"("conditions":[)" + condition("ScalingLimited", "False", "ok") + "]"),
         {2, 4, 0, {{"m", "60", ""}}, ""}},
        {"of another program",
         R"({"spec":{"maxReplicas":9,"metrics":[{"type":"Resource","resource":{}}]}})",
         {1, 9, 0, {}, ""}},
        {"rubbish",
         R"({"spec":{"maxReplicas":-1,"minReplicas":"x"},"status":7})",
         {0, 0, 0, {}, ""}},
    };
    for (const Row& row : rows)
        EXPECT_EQ(read_scaler(parsed(row.json).root()), row.status) << row.what;
}

}  // namespace
}  // namespace tessera::workload

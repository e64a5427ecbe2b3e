#include "app/workload/serving_text.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

using workload::ServingStatus;
using workload::ServingType;

constexpr std::int64_t kNow = 1'000'000;

ServingStatus shared() {
    ServingStatus job;
    job.id = {"mnist2", "", ServingType::tensorflow};
    job.ns = "default";
    job.object = "mnist2-tensorflow-serving";
    job.desired = 2;
    job.available = 1;
    job.created_s = kNow - std::int64_t{11} * 60;
    job.gpus = {.memory = gibibytes(3), .cores = {25}};
    job.address = "172.19.0.222";
    job.ports = {{"grpc-serving", 8500, 0}, {"http-serving", 8501, 31129}};
    job.pods = {{.name = "mnist2-a",
                 .phase = "Running",
                 .status = "Running",
                 .ready = 1,
                 .containers = 1,
                 .node = "gpu-b",
                 .node_ip = "10.0.0.22",
                 .created_s = kNow - 90,
                 .gpus = {{.uuid = GpuUuid("GPU-gpu-b-1"), .index = 1, .memory = gibibytes(3)}},
                 .why = ""},
                {.name = "mnist2-b",
                 .phase = "Pending",
                 .status = "Pending",
                 .containers = 1,
                 .created_s = kNow - 9,
                 .why = "Unschedulable: no GPU"}};
    return job;
}

ServingStatus whole() {
    ServingStatus job;
    job.id = {"mnist1", "v1", ServingType::custom};
    job.ns = "team";
    job.desired = job.available = 1;
    job.created_s = kNow - std::int64_t{3} * 86'400;
    job.gpus = {.whole = 1};
    job.pods = {{.name = "p",
                 .phase = "Running",
                 .status = "Running",
                 .ready = 1,
                 .containers = 1,
                 .node = "gpu-a",
                 .gpus = {{.uuid = GpuUuid("GPU-gpu-a-0"), .index = 0, .whole = true}},
                 .why = ""}};
    return job;
}

// Goal: the bounds of the autoscaling, its targets, and why it does not scale.
TEST(ServingText, Autoscaling) {
    ServingStatus job = whole();
    job.scaling = workload::ScalingStatus{
        .least = 1,
        .most = 4,
        .desired = 2,
        .metrics = {{"tessera_gpu_compute_use", "60", "95500m"}, {"other", "1500m", ""}},
        .why = "at the limit"};
    const std::vector jobs{job, shared()};
    const std::string table = serving_table(jobs, {{}, kNow}, false);
    EXPECT_NE(table.find("  GPU_CORE  SCALE\n"), std::string::npos) << table;
    EXPECT_NE(table.find("  1-4\n"), std::string::npos) << table;
    EXPECT_TRUE(table.ends_with("  N/A\n")) << table;
    const std::string text = serving_text(job, {{}, kNow});
    EXPECT_NE(text.find("Autoscaling:  1 to 4 pods; tessera_gpu_compute_use 95.5/60, other "
                        "unknown/1.5\nNot scaled:   at the limit\n"),
              std::string::npos)
        << text;
    const std::string json = serving_json(job, {{}, kNow});
    EXPECT_NE(json.find(R"("autoscaling":{"minInstances":1,"maxInstances":4,"desiredInstances":2,)"
                        R"("metrics":[{"name":"tessera_gpu_compute_use","target":"60",)"
                        R"("current":"95500m"},{"name":"other","target":"1500m"}],)"
                        R"("reason":"at the limit"})"),
              std::string::npos)
        << json;
}

// Goal: Arena's columns (docs/research/arena.md §4.4), then memory and compute of a share. A share
// counts as its part of the GPU's memory.
TEST(ServingText, Table) {
    const std::vector nodes{build::node("gpu-a", 1, gibibytes(16)),
                            build::node("gpu-b", 2, gibibytes(16))};
    const std::vector jobs{whole(), shared()};
    EXPECT_EQ(serving_table(jobs, {nodes, kNow}, false),
              "NAME    TYPE        VERSION  DESIRED  AVAILABLE  ADDRESS       PORTS                "
              "          "
              "GPU  GPU_MEM  GPU_CORE\n"
              "mnist1  Custom      v1       1        1          N/A           N/A                  "
              "          "
              "1    N/A      N/A\n"
              "mnist2  Tensorflow  N/A      2        1          172.19.0.222  "
              "GRPC:8500,RESTFUL:31129->8501  0.2  3Gi      25%\n");
    EXPECT_TRUE(serving_table(jobs, {nodes, kNow}, true).starts_with("NAMESPACE  NAME "));
    // Without the sizes of the GPUs, only whole GPUs are counted.
    EXPECT_NE(serving_table(jobs, {{}, kNow}, false).find("8501  0    3Gi"), std::string::npos);
    ServingStatus plain = shared();
    plain.gpus = {};
    EXPECT_TRUE(serving_table(std::vector{plain}, {nodes, kNow}, false)
                    .starts_with("NAME    TYPE        VERSION  DESIRED  AVAILABLE  ADDRESS       "
                                 "PORTS\n"));
}

TEST(ServingText, OneJob) {
    const std::vector nodes{build::node("gpu-b", 2, gibibytes(16))};
    EXPECT_EQ(serving_text(shared(), {nodes, kNow}),
              "Name:        mnist2\n"
              "Namespace:   default\n"
              "Type:        Tensorflow\n"
              "Version:     N/A\n"
              "Desired:     2\n"
              "Available:   1\n"
              "Age:         11m\n"
              "Address:     172.19.0.222\n"
              "Port:        GRPC:8500,RESTFUL:31129->8501\n"
              "GPU:         0.2\n"
              "GPU Memory:  3Gi\n"
              "GPU Core:    25%\n"
              "\n"
              "Instances:\n"
              "  NAME      STATUS   AGE  READY  RESTARTS  GPU        NODE\n"
              "  ----      ------   ---  -----  --------  ---        ----\n"
              "  mnist2-a  Running  1m   1/1    0         gpu1(3Gi)  gpu-b\n"
              "  mnist2-b  Pending  9s   0/1    0         N/A        N/A\n"
              "\n"
              "Why it waits:\n"
              "  pod mnist2-b: Unschedulable: no GPU\n");
    ServingStatus none = whole();
    none.pods.clear();
    EXPECT_EQ(serving_text(none, {{}, kNow}).find("Why it waits"), std::string::npos);
    none.available = 0;
    EXPECT_TRUE(serving_text(none, {{}, kNow}).ends_with("  the pods are being created\n"));
    none.why = "exceeded quota";
    EXPECT_NE(serving_text(none, {{}, kNow}).find(": exceeded quota\n"), std::string::npos);
}

// Goal: JSON has Arena's members, with amounts in bytes and percent.
TEST(ServingText, Json) {
    const auto document = JsonDocument::parse(serving_list_json(std::vector{shared()}, {{}, kNow}));
    ASSERT_TRUE(document);
    const JsonValue job = document->root().elements().at(0);
    EXPECT_EQ(job["name"].text(), "mnist2");
    EXPECT_EQ(job["type"].text(), "tf-serving");
    EXPECT_EQ(job["age"].text(), "660s");
    EXPECT_EQ(job["requestGPUMemory"].integer(), 3 * kGiB);
    EXPECT_EQ(job["requestGPUCore"].integer(), 25);
    EXPECT_EQ(job["endpoints"].elements().at(1)["nodePort"].integer(), 31129);
    const JsonValue pod = job["instances"].elements().at(0);
    EXPECT_EQ(pod["nodeIP"].text(), "10.0.0.22");
    EXPECT_EQ(pod["gpus"].elements().at(0)["memoryBytes"].integer(), 3 * kGiB);
    EXPECT_EQ(job["instances"].elements().at(1)["reason"].text(), "Unschedulable: no GPU");
    EXPECT_TRUE(JsonDocument::parse(serving_json(whole(), {{}, kNow})));
}

// Goal: Arena's address of a version with a part of the traffic, and of one without.
TEST(ServingText, Traffic) {
    ServingStatus job = shared();
    job.traffic = {.by_route = true, .address = "half.team", .takes_part = true, .percent = 30};
    const std::string text = serving_text(job, {{}, kNow});
    EXPECT_NE(text.find("Address:     172.19.0.222(30%)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("Traffic:     30% of httproute/mnist2 (half.team)\n"), std::string::npos);
    EXPECT_NE(serving_table(std::vector{job}, {{}, kNow}, false).find("172.19.0.222(30%)"),
              std::string::npos);
    const auto document = JsonDocument::parse(serving_json(job, {{}, kNow}));
    EXPECT_EQ(document->root()["ip"].text(), "172.19.0.222");
    EXPECT_EQ(document->root()["traffic"]["percent"].integer(), 30);
    job.traffic = {.address = "10.0.0.9", .why = {}};
    const std::string out = serving_text(job, {{}, kNow});
    EXPECT_NE(out.find("Address:     N/A\n"), std::string::npos) << out;
    EXPECT_NE(out.find("Traffic:     0% of service/mnist2 (10.0.0.9)\n"), std::string::npos);
    EXPECT_FALSE(
        JsonDocument::parse(serving_json(shared(), {{}, kNow}))->root()["traffic"].present());
}

TEST(ServingText, Ages) {
    EXPECT_EQ(age_text(-5), "0s");
    EXPECT_EQ(age_text(59), "59s");
    EXPECT_EQ(age_text(60), "1m");
    EXPECT_EQ(age_text(3'600), "1h");
    EXPECT_EQ(age_text(std::int64_t{86'400} * 2), "2d");
    EXPECT_EQ(age_text(std::int64_t{86'400} * 400), "1y");
}

}  // namespace
}  // namespace tessera

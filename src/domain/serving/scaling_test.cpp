#include "domain/serving/scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "domain/autoscaling/request_counter.hpp"
#include "domain/serving/serve_flags.hpp"

namespace tessera::workload {
namespace {

constexpr Gpus kShare{.memory = {kMiB * 1024}, .cores = {30}};

struct Row {
    ScalingFlags flags;
    Gpus gpus;
    std::optional<Scaling> scaling;
    const char* fault = "";  // how the error begins
};

// Goal: which flags make an autoscaling, and what each mistake says.
TEST(Scaling, Flags) {
    const std::vector<Row> rows = {
        {{}, kShare, {}},
        {{.max_replicas = 4, .target_gpu_use = 60}, kShare, Scaling{1, 4, 60, 0, 300}},
        {{.max_replicas = 4, .target_request_rate = 100}, {}, Scaling{1, 4, 0, 100, 300}},
        {{.min_replicas = 4, .max_replicas = 4, .target_gpu_use = 1'000, .scale_down_delay = 0},
         kShare,
         Scaling{4, 4, 1'000, 0, 0}},
        {{.target_gpu_use = 60}, kShare, {}, "--target-gpu-use: needs --max-replicas"},
        {{.target_request_rate = 1}, kShare, {}, "--target-request-rate: needs --max-replicas"},
        {{.max_replicas = 1, .target_request_rate = 1'000'001},
         kShare,
         {},
         "--target-request-rate: 1000001 is not a number from 1 to 1000000"},
        {{.min_replicas = 2}, kShare, {}, "--min-replicas: needs --max-replicas"},
        {{.min_replicas = 0}, kShare, {}, "--min-replicas: needs --max-replicas"},
        {{.scale_down_delay = 0}, kShare, {}, "--scale-down-delay: needs --max-replicas"},
        {{.max_replicas = 4}, kShare, {}, "--max-replicas: needs --target-gpu-use"},
        {{.min_replicas = 0, .max_replicas = 4, .target_gpu_use = 60},
         kShare,
         {},
         "--min-replicas: is 0, but "},
        {{.min_replicas = 5, .max_replicas = 4, .target_gpu_use = 60},
         kShare,
         {},
         "--min-replicas: 5 is more than --max-replicas 4"},
        {{.max_replicas = 4, .target_gpu_use = 1'001},
         kShare,
         {},
         "--target-gpu-use: 1001 is not a percentage from 1 to 1000"},
        {{.max_replicas = 4, .target_gpu_use = 60},
         {.memory = {kMiB * 1024}},
         {},
         "--target-gpu-use: needs --gpucore: "},
        {{.max_replicas = 4, .target_gpu_use = 60},
         {.whole = 1},
         {},
         "--target-gpu-use: needs --gpucore: "},
    };
    for (const Row& row : rows) {
        const auto read = read_scaling(row.flags, row.gpus);
        const std::string text = read ? "" : read.error().text;
        EXPECT_EQ(text.empty(), *row.fault == '\0') << text;
        EXPECT_TRUE(text.starts_with(row.fault)) << text;
        if (read) {
            EXPECT_EQ(*read, row.scaling);
        }
    }
}

// Goal: the number of pods at the beginning is within the bounds; 0 suspends the autoscaling.
TEST(Scaling, InitialReplicas) {
    const Scaling scaling{.least = 2, .most = 4};
    EXPECT_EQ(initial_replicas(1, scaling).value(), 2);
    EXPECT_EQ(initial_replicas(3, scaling).value(), 3);
    EXPECT_EQ(initial_replicas(0, scaling).value(), 0);
    EXPECT_EQ(initial_replicas(5, scaling).error().text,
              "--replicas: 5 is more than --max-replicas 4; give both, with at most as many "
              "replicas");
}

// Goal: the flags reach the job, and a change of them is one of the autoscaling alone.
TEST(Scaling, OfAJob) {
    CustomFlags flags;
    flags.serve.name = "web";
    flags.serve.pod.image = "web:1";
    flags.serve.pod.gpu = {.gpus = 0, .gpumemory = "1", .gpucore = 30};
    flags.restful_port = 80;
    const Serving fixed = custom_serving(flags).value();
    EXPECT_FALSE(fixed.scaling);
    flags.serve.scaling = {.min_replicas = 2, .max_replicas = 4, .target_gpu_use = 60};
    const Serving scaled = custom_serving(flags).value();
    EXPECT_EQ(scaled.scaling, (Scaling{2, 4, 60, 0, 300}));
    EXPECT_EQ(scaled.replicas, 2);
    EXPECT_EQ(change_between(fixed, scaled), (ServingChange{.scaling = true}));
    EXPECT_FALSE(change_between(scaled, scaled).any());
    flags.serve.replicas = 5;
    EXPECT_FALSE(custom_serving(flags));
}

// Goal: each kind of server counts its requests at its own place, and says so on its pods.
TEST(Scaling, RequestCounters) {
    const std::string key(kRequestCounterAnnotation);
    TensorflowFlags tf;
    tf.serve.name = tf.model_name = "half";
    tf.model_path = "/models/half";
    tf.serve.scaling = {.max_replicas = 4, .target_request_rate = 100};
    const Serving half = tensorflow_serving(tf).value();
    EXPECT_EQ(half.pod.annotations.at(key),
              "8501/monitoring/prometheus/metrics :tensorflow:serving:request_count");
    ASSERT_EQ(half.pod.files.size(), 1U);
    EXPECT_EQ(half.pod.files[0].content,
              "prometheus_config { enable: true, path: \"/monitoring/prometheus/metrics\" }\n");
    EXPECT_NE(
        std::ranges::find(half.pod.command, "--monitoring_config_file=" + half.pod.files[0].path),
        half.pod.command.end());
    tf.monitoring_config_file = "/etc/own";
    EXPECT_TRUE(tensorflow_serving(tf).value().pod.files.empty());
    tf.restful_port = 0;
    EXPECT_TRUE(tensorflow_serving(tf).error().text.starts_with("--target-request-rate: needs"));

    TritonFlags triton;
    triton.serve.name = "resnet";
    triton.model_repository = "/models";
    triton.serve.scaling = {.max_replicas = 4, .target_request_rate = 100};
    EXPECT_TRUE(triton_serving(triton).error().text.starts_with(
        "--target-request-rate: needs --allow-metrics"));
    triton.allow_metrics = true;
    EXPECT_EQ(triton_serving(triton).value().pod.annotations.at(key),
              "8002/metrics nv_inference_request_success");

    CustomFlags custom;
    custom.serve.name = "web";
    custom.serve.pod.image = "web:1";
    custom.restful_port = 80;
    custom.serve.scaling = {.max_replicas = 4, .target_request_rate = 100};
    EXPECT_TRUE(custom_serving(custom).error().text.starts_with("--request-counter: is missing"));
    custom.request_counter = "http_requests_total";
    EXPECT_FALSE(custom_serving(custom));
    custom.metrics_port = 9090;
    EXPECT_EQ(custom_serving(custom).value().pod.annotations.at(key),
              "9090/metrics http_requests_total");
    custom.request_counter = "a b";
    EXPECT_TRUE(custom_serving(custom).error().text.starts_with("--request-counter: \"a b\" is"));
}

}  // namespace
}  // namespace tessera::workload

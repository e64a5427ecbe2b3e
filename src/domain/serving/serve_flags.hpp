// From the flags of `tessera serve tensorflow`, `triton` and `custom` to serving jobs. The flags
// are Arena's (docs/research/arena.md §2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/serving/probe_flags.hpp"
#include "domain/serving/scaling.hpp"
#include "domain/serving/serving.hpp"
#include "domain/workload/pod_flags.hpp"

namespace tessera::workload {

struct ServeFlags {
    std::string ns;
    std::string name;
    std::string version;
    int replicas = 1;
    std::string max_surge;
    std::string max_unavailable;
    ScalingFlags scaling;
    PodFlags pod;
};

// What the CUDA context and the libraries of a server take beside TensorFlow's own memory. On an
// H100 a context takes 526 MiB (docs/internals/hardware-figures.md), on a T4 234 MiB.
inline constexpr std::string_view kContextMemory = "600Mi";

struct TensorflowFlags {
    ServeFlags serve;
    int port = 8500;          // gRPC; 0: none
    int restful_port = 8501;  // 0: none
    std::string model_name;
    std::string model_path;
    std::string model_config_file;       // in the container
    std::string monitoring_config_file;  // in the container
    std::string version_policy;          // latest[:N], specific:N[,M...] or all
    std::string context_memory{kContextMemory};
};

struct TritonFlags {
    ServeFlags serve;
    std::string model_repository;
    int http_port = 8000;
    int grpc_port = 8001;
    int metrics_port = 8002;
    bool allow_metrics = false;
    std::vector<std::string> load_model;
    std::string extend_command;
};

struct CustomFlags {
    ServeFlags serve;
    int port = 0;
    int restful_port = 0;
    int metrics_port = 0;
    std::string request_counter;  // a metric of the metrics port, at /metrics; empty: none
    ProbeFlags startup;
    ProbeFlags readiness;
    ProbeFlags liveness;
    std::string health_path;         // GET on the REST port; empty: the port accepts connections
    std::vector<std::string> words;  // the command, if --command is missing
};

// invalid_argument names the flag and the fix.
Result<Serving> tensorflow_serving(const TensorflowFlags& flags);
Result<Serving> triton_serving(const TritonFlags& flags);
Result<Serving> custom_serving(const CustomFlags& flags);

// TensorFlow Serving's model_config_list with one model, as text (the text format of protocol
// buffers). `policy`: as in TensorflowFlags.
Result<std::string> model_config(std::string_view model, std::string_view path,
                                 std::string_view policy);

}  // namespace tessera::workload

#include "programs/tessera/serve/serve_flags_options.hpp"

#include "programs/common/command_line.hpp"
#include "programs/tessera/workload/flag_options.hpp"

namespace tessera {
namespace {

void add_probe(CLI::App& command, const std::string& kind, workload::ProbeFlags& flags) {
    const std::string prefix = "--" + kind + "-probe-";
    add_flag_value(command, (prefix + "action").c_str(), flags.action,
                   "what the probe does: httpGet, exec, grpc or tcpSocket");
    add_list(command, (prefix + "action-option").c_str(), flags.action_options,
             "option of the action, such as \"path: /healthz\" or \"command: cat /ready\"");
    add_list(command, (prefix + "option").c_str(), flags.options,
             "option of the probe, such as \"periodSeconds: 3\"");
}

}  // namespace

void add_serve_flags(CLI::App& command, workload::ServeFlags& flags, CreateOptions& options) {
    last(command.add_option("--name", flags.name, "name of the serving job"))->required();
    add_flag_value(command, "--version", flags.version,
                   "version of the serving job, if there are several");
    add_flag_value(command, "-n,--namespace", flags.ns, "namespace of the serving job");
    add_number(command, "--replicas", flags.replicas, 10'000, "number of pods");
    add_number(command, "--max-replicas", flags.scaling.max_replicas, 10'000,
               "scale automatically, up to this number of pods; 0: keep --replicas");
    add_number(command, "--min-replicas", flags.scaling.min_replicas, 10'000,
               "with --max-replicas: smallest number of pods");
    add_number(command, "--target-gpu-use", flags.scaling.target_gpu_use, 1'000,
               "with --max-replicas: GPU time that the pods use on average, in percent of "
               "--gpucore, beyond which pods are added; 0: none");
    add_number(command, "--target-request-rate", flags.scaling.target_request_rate, 1'000'000,
               "with --max-replicas: requests per second that a pod answers on average, beyond "
               "which pods are added; 0: none");
    add_number(command, "--scale-down-delay", flags.scaling.scale_down_delay, 3'600,
               "with --max-replicas: seconds of less use until pods are removed");
    add_flag_value(command, "--max-surge", flags.max_surge,
                   "pods beyond --replicas during an update, as a number or a percentage");
    add_flag_value(command, "--max-unavailable", flags.max_unavailable,
                   "pods that may be missing during an update, as a number or a percentage");
    options.wait.add_to(command, "all its pods are available");
    add_pod_options(command, flags.pod, options);
}

void add_tensorflow_flags(CLI::App& command, workload::TensorflowFlags& flags) {
    add_flag_value(command, "--model-name", flags.model_name, "name of the model in requests");
    add_flag_value(command, "--model-path", flags.model_path, "folder with the model's versions");
    add_flag_value(command, "--version-policy", flags.version_policy,
                   "versions to serve: latest, latest:N, specific:N[,M...] or all");
    add_flag_value(
        command, "--model-config-file", flags.model_config_file,
        "file in the container that names the models, in place of the three flags above");
    add_flag_value(command, "--monitoring-config-file", flags.monitoring_config_file,
                   "file in the container with the server's monitoring configuration");
    add_port(command, "--port", flags.port, "gRPC port; 0: none");
    add_port(command, "--restful-port", flags.restful_port, "REST port; 0: none");
    add_default(command, "--gpu-context-memory", flags.context_memory,
                "part of --gpumemory that is left to the CUDA context and its libraries");
}

void add_triton_flags(CLI::App& command, workload::TritonFlags& flags) {
    add_flag_value(command, "--model-repository", flags.model_repository, "folder with the models");
    add_list(command, "--load-model", flags.load_model, "load only this model");
    add_port(command, "--http-port", flags.http_port, "HTTP port");
    add_port(command, "--grpc-port", flags.grpc_port, "gRPC port; 0: none");
    add_port(command, "--metrics-port", flags.metrics_port, "port of --allow-metrics");
    command.add_flag("--allow-metrics", flags.allow_metrics, "serve metrics");
    add_flag_value(command, "--extend-command", flags.extend_command,
                   "more arguments of the server");
}

void add_custom_flags(CLI::App& command, workload::CustomFlags& flags) {
    add_port(command, "--port", flags.port, "gRPC port; 0: none");
    add_port(command, "--restful-port", flags.restful_port, "REST port; 0: none");
    add_port(command, "--metrics-port", flags.metrics_port, "port with metrics; 0: none");
    add_flag_value(command, "--request-counter", flags.request_counter,
                   "counter of requests in the metrics of --metrics-port, at /metrics");
    add_flag_value(command, "--health-path", flags.health_path,
                   "path of the REST port that answers 200 when the server is ready");
    add_probe(command, "startup", flags.startup);
    add_probe(command, "readiness", flags.readiness);
    add_probe(command, "liveness", flags.liveness);
    add_words(command, flags.words, "command line of the server");
}

}  // namespace tessera

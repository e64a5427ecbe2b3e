// `tessera serve triton` and `tessera serve custom`.
#include <fmt/format.h>

#include "domain/serving/serve_common.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kTritonImage = "nvcr.io/nvidia/tritonserver:24.01-py3";

Result<> read_probes(const CustomFlags& flags, PodTemplate& pod) {
    ProbeDefaults defaults{
        .rest_port = flags.restful_port, .grpc_port = flags.port, .shell = flags.serve.pod.shell};
    TRY_VOID(read_probe_flags("startup", flags.startup, defaults, *pod.startup));
    TRY_VOID(read_probe_flags("liveness", flags.liveness, defaults, *pod.liveness));
    defaults.is_ready = true;
    return read_probe_flags("readiness", flags.readiness, defaults, *pod.readiness);
}

Result<> read_request_counter(const CustomFlags& flags, Serving& job) {
    if (flags.request_counter.empty() && flags.serve.scaling.target_request_rate == 0) return {};
    if (flags.request_counter.empty() || flags.metrics_port == 0) {
        return fail(Code::invalid_argument,
                    "--request-counter: is missing, or --metrics-port is; name the counter of "
                    "requests, such as http_requests_total, and the port that serves it at "
                    "/metrics");
    }
    if (!is_metric_name(flags.request_counter)) {
        return fail(Code::invalid_argument,
                    fmt::format("--request-counter: \"{}\" is not the name of a metric, of a-z, "
                                "A-Z, 0-9, _ and :",
                                flags.request_counter));
    }
    count_requests(job.pod, {flags.metrics_port, "/metrics", flags.request_counter});
    return {};
}

}  // namespace

Result<Serving> triton_serving(const TritonFlags& flags) {
    TRY(Serving job, begin_serving(flags.serve, ServingType::triton, kTritonImage));
    if (flags.http_port == 0)
        return fail(Code::invalid_argument, "--http-port: is 0, but the probes need the port");
    TRY_VOID(add_port(job.pod, "--http-port", kRestPort, flags.http_port));
    TRY_VOID(add_port(job.pod, "--grpc-port", kGrpcPort, flags.grpc_port));
    if (flags.allow_metrics)
        TRY_VOID(add_port(job.pod, "--metrics-port", kMetricsPort, flags.metrics_port));
    if (flags.serve.scaling.target_request_rate > 0) {
        if (!flags.allow_metrics || flags.metrics_port == 0) {
            return fail(Code::invalid_argument,
                        "--target-request-rate: needs --allow-metrics, and --metrics-port, where "
                        "the server counts its requests");
        }
        count_requests(job.pod, {flags.metrics_port, "/metrics", "nv_inference_request_success"});
    }
    const Probe alive{
        .action = ProbeAction::http, .port = flags.http_port, .path = "/v2/health/live"};
    Probe ready = alive;
    ready.path = "/v2/health/ready";
    set_probes(job.pod, alive, ready);
    if (!job.pod.command.empty()) return job;  // --command
    if (flags.model_repository.empty()) {
        return fail(Code::invalid_argument,
                    "--model-repository: is missing; it is the folder with the models, such as "
                    "/models");
    }
    std::vector<std::string> server{"tritonserver", fmt::format("--http-port={}", flags.http_port),
                                    fmt::format("--grpc-port={}", flags.grpc_port),
                                    fmt::format("--allow-metrics={}", flags.allow_metrics),
                                    "--model-repository=" + flags.model_repository};
    if (flags.grpc_port == 0) server[2] = "--allow-grpc=false";
    if (flags.allow_metrics) server.push_back(fmt::format("--metrics-port={}", flags.metrics_port));
    if (!flags.load_model.empty()) server.emplace_back("--model-control-mode=explicit");
    for (const std::string& model : flags.load_model)
        server.push_back("--load-model=" + model);
    if (flags.extend_command.empty()) {
        for (const std::string& word : server)
            job.pod.command.push_back(unexpanded(word));
    } else {
        job.pod.command = {
            flags.serve.pod.shell, "-c",
            unexpanded(fmt::format("exec {} {}", shell_line(server), flags.extend_command))};
    }
    return job;
}

Result<Serving> custom_serving(const CustomFlags& flags) {
    TRY(Serving job, begin_serving(flags.serve, ServingType::custom, ""));
    if (flags.port == 0 && flags.restful_port == 0) {
        return fail(Code::invalid_argument,
                    "--restful-port: is missing, and so is --port; name the port of the server");
    }
    TRY_VOID(add_port(job.pod, "--port", kGrpcPort, flags.port));
    TRY_VOID(add_port(job.pod, "--restful-port", kRestPort, flags.restful_port));
    TRY_VOID(add_port(job.pod, "--metrics-port", kMetricsPort, flags.metrics_port));
    TRY_VOID(read_request_counter(flags, job));
    if (!job.pod.command.empty() && !flags.words.empty()) {
        return fail(Code::invalid_argument,
                    "--command: cannot be used with a command line after the flags; write one");
    }
    if (!flags.words.empty()) {
        std::string text;  // as Arena joins them, so that a shell reads the text
        for (const std::string& word : flags.words)
            text += (text.empty() ? "" : " ") + word;
        job.pod.command = {flags.serve.pod.shell, "-c", unexpanded(text)};
    }
    Probe probe{.action = ProbeAction::tcp,
                .port = flags.restful_port != 0 ? flags.restful_port : flags.port};
    if (!flags.health_path.empty()) {
        if (flags.restful_port == 0 || !flags.health_path.starts_with('/')) {
            return fail(Code::invalid_argument,
                        "--health-path: needs --restful-port, and a path such as /healthz");
        }
        probe.action = ProbeAction::http;
        probe.path = flags.health_path;
    }
    set_probes(job.pod, probe, probe);
    TRY_VOID(read_probes(flags, job.pod));
    return job;
}

}  // namespace tessera::workload

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "domain/serving/serve_common.hpp"
#include "domain/workload/refuse_flag.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kServer = "/usr/bin/tensorflow_model_server";
// Where TensorFlow Serving counts its requests by default.
constexpr std::string_view kMetricsPath = "/monitoring/prometheus/metrics";
constexpr std::string_view kCounter = ":tensorflow:serving:request_count";
constexpr std::string_view kMonitoringPath = "/etc/tessera/monitoring.config";
constexpr std::string_view kConfigPath = "/etc/tessera/models.config";

// In the text format of protocol buffers.
std::string proto_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

bool is_version(std::string_view text) {
    return !text.empty() && text.size() <= 18 && std::ranges::all_of(text, is_digit);
}

// "1,3" as "versions: 1 versions: 3"; nothing if it is no list of numbers.
std::string versions_text(std::string_view list) {
    std::string out;
    while (true) {
        const std::string_view one = list.substr(0, list.find(','));
        if (!is_version(one)) return {};
        out += fmt::format("versions: {} ", one);
        if (one.size() == list.size()) return out;
        list.remove_prefix(one.size() + 1);
    }
}

Result<std::string> policy_text(std::string_view policy) {
    const std::size_t colon = std::min(policy.find(':'), policy.size());
    const std::string_view kind = policy.substr(0, colon);
    const std::string_view value = policy.substr(std::min(colon + 1, policy.size()));
    if (kind == "all" && colon == policy.size()) return "all: { }";
    if (kind == "latest" && colon == policy.size()) return "latest: { num_versions: 1 }";
    if (kind == "latest" && is_version(value) && value.find_first_not_of('0') != value.npos)
        return fmt::format("latest: {{ num_versions: {} }}", value);
    if (kind == "specific") {
        if (const std::string versions = versions_text(value); !versions.empty())
            return fmt::format("specific: {{ {}}}", versions);
    }
    return refuse("--version-policy",
                  fmt::format("\"{}\" is not latest, latest:N, specific:N[,M...] or all", policy));
}

// It is a part of the paths of requests.
bool is_of_a_model_name(char c) {
    return is_alnum(c) || c == '_' || c == '.' || c == '-';
}

struct Models {
    std::vector<std::string> arguments;  // of the server
    std::string probed;                  // the model that the probes ask for; empty: not known
};

// Which models the server has.
Result<Models> read_models(const TensorflowFlags& flags, Serving& job) {
    if (!flags.model_config_file.empty()) {
        if (!flags.version_policy.empty()) {
            return refuse("--version-policy",
                          "cannot be used with --model-config-file, which has the policy itself");
        }
        if (!flags.model_name.empty() || !flags.model_path.empty()) {
            job.notes.emplace_back(
                "--model-name and --model-path are ignored, because --model-config-file names the "
                "models");
        }
        return Models{{"--model_config_file=" + flags.model_config_file}, {}};
    }
    if (flags.model_name.empty())
        return refuse("--model-name", "is missing; it is the model's name in requests");
    if (!std::ranges::all_of(flags.model_name, is_of_a_model_name)) {
        return refuse("--model-name",
                      fmt::format("\"{}\" has other characters than a-z, A-Z, 0-9, _, . and -",
                                  flags.model_name));
    }
    if (flags.model_path.empty()) {
        return refuse("--model-path",
                      "is missing; it is the folder with the model's versions, such as "
                      "/models/mnist");
    }
    if (flags.version_policy.empty()) {
        return Models{{"--model_name=" + flags.model_name, "--model_base_path=" + flags.model_path},
                      flags.model_name};
    }
    TRY(const std::string text,
        model_config(flags.model_name, flags.model_path, flags.version_policy));
    job.pod.files.push_back({std::string(kConfigPath), text});
    return Models{{fmt::format("--model_config_file={}", kConfigPath)}, flags.model_name};
}

// Computes TensorFlow's part of the memory that it sees, in ten thousandths and rounded down. The
// GPU is known only in the container, so the shell does it, with integers only.
constexpr std::string_view kFraction = R"(set -u
: "${{TESSERA_GPU_MEMORY_BYTES:?is not set: did Tessera's agent start this container?}}"
: "${{TESSERA_GPU_VISIBLE_MEMORY_BYTES:?is not set: is Tessera's agent older than this command?}}"
fraction=$(( (TESSERA_GPU_MEMORY_BYTES - {0}) * 10000 / TESSERA_GPU_VISIBLE_MEMORY_BYTES ))
if [ "$fraction" -lt 1 ]; then
  echo "a share of $TESSERA_GPU_MEMORY_BYTES bytes has no memory for TensorFlow beside the {0}" \
    "bytes of its CUDA context; request a larger --gpumemory" >&2
  exit 1
fi
[ "$fraction" -lt 10000 ] || fraction=9999
fraction=$(printf 0.%04d "$fraction")
echo "share: $TESSERA_GPU_MEMORY_BYTES of $TESSERA_GPU_VISIBLE_MEMORY_BYTES visible bytes;" \
  "per_process_gpu_memory_fraction=$fraction"
exec {1} --per_process_gpu_memory_fraction="$fraction"
)";

Result<std::vector<std::string>> command_of(const TensorflowFlags& flags, const Gpus& gpus,
                                            std::vector<std::string> server) {
    if (!gpus.is_share()) {
        for (std::string& word : server)
            word = unexpanded(word);
        return server;
    }
    const auto context = parse_whole_quantity(flags.context_memory);
    if (!context) return fail(context.error().in("--gpu-context-memory"));
    if (gpus.memory.count <= *context) {
        return refuse("--gpumemory",
                      fmt::format("a share of {} has no memory for TensorFlow beside the {} of its "
                                  "CUDA context (--gpu-context-memory); request more",
                                  to_string(gpus.memory), to_string(Bytes{*context})));
    }
    return std::vector<std::string>{
        flags.serve.pod.shell, "-c",
        unexpanded(fmt::format(kFraction, *context, shell_line(server)))};
}

Probe probe_of(const TensorflowFlags& flags, const std::string& model) {
    if (flags.restful_port == 0) return {.action = ProbeAction::tcp, .port = flags.port};
    // The server listens only after the models of its start are loaded.
    if (model.empty()) return {.action = ProbeAction::tcp, .port = flags.restful_port};
    return {.action = ProbeAction::http, .port = flags.restful_port, .path = "/v1/models/" + model};
}

Result<> read_request_target(const TensorflowFlags& flags, Serving& job) {
    if (flags.serve.scaling.target_request_rate == 0) return {};
    if (flags.restful_port == 0) {
        return refuse("--target-request-rate",
                      "needs --restful-port, where the server counts its requests");
    }
    count_requests(job.pod, {flags.restful_port, std::string(kMetricsPath), std::string(kCounter)});
    return {};
}

}  // namespace

Result<std::string> model_config(std::string_view model, std::string_view path,
                                 std::string_view policy) {
    TRY(const std::string versions, policy_text(policy));
    return fmt::format(
        "model_config_list: {{ config: {{ name: {} base_path: {} model_platform: \"tensorflow\" "
        "model_version_policy: {{ {} }} }} }}\n",
        proto_text(model), proto_text(path), versions);
}

Result<Serving> tensorflow_serving(const TensorflowFlags& flags) {
    TRY(const Gpus gpus, read_gpu_flags(flags.serve.pod.gpu));
    const bool has_gpu = gpus.whole > 0 || gpus.is_share();
    TRY(Serving job,
        begin_serving(flags.serve, ServingType::tensorflow,
                      has_gpu ? "tensorflow/serving:latest-gpu" : "tensorflow/serving:latest"));
    if (flags.port == 0 && flags.restful_port == 0)
        return refuse("--port", "is 0, and so is --restful-port; the server needs one of them");
    TRY_VOID(add_port(job.pod, "--port", kGrpcPort, flags.port));
    TRY_VOID(add_port(job.pod, "--restful-port", kRestPort, flags.restful_port));
    TRY_VOID(read_request_target(flags, job));
    if (!job.pod.command.empty()) {  // --command
        job.notes.emplace_back(
            "--command replaces the server's command line, so the flags about models and the "
            "memory fraction have no effect");
        const Probe probe = probe_of(flags, {});
        set_probes(job.pod, probe, probe);
        return job;
    }
    TRY(const Models models, read_models(flags, job));
    std::vector<std::string> server{std::string(kServer), fmt::format("--port={}", flags.port),
                                    fmt::format("--rest_api_port={}", flags.restful_port)};
    server.insert(server.end(), models.arguments.begin(), models.arguments.end());
    if (!flags.monitoring_config_file.empty()) {
        server.push_back("--monitoring_config_file=" + flags.monitoring_config_file);
    } else if (flags.serve.scaling.target_request_rate > 0) {
        server.push_back(fmt::format("--monitoring_config_file={}", kMonitoringPath));
        job.pod.files.push_back(
            {std::string(kMonitoringPath),
             fmt::format("prometheus_config {{ enable: true, path: \"{}\" }}\n", kMetricsPath)});
    }
    TRY(job.pod.command, command_of(flags, job.pod.gpus, std::move(server)));
    const Probe probe = probe_of(flags, models.probed);
    set_probes(job.pod, probe, probe);
    return job;
}

}  // namespace tessera::workload

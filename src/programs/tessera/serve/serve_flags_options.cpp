#include "programs/tessera/serve/serve_flags_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "adapters/os/text_file.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/common_options.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Options that say where and how, and do not describe the job.
constexpr auto kNotOfTheJob = std::to_array<std::string_view>(
    {"namespace", "context", "kubeconfig", "dry-run", "output", "help"});
// A ConfigMap has at most 1 MiB.
constexpr std::size_t kMostFileBytes = std::size_t{1000} << 10;

CLI::Option* last(CLI::Option* option) {
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_list(CLI::App& command, const char* names, std::vector<std::string>& out,
              const char* help) {
    // One value for each flag: CLI11 would take further words, and a "--" after them.
    command.add_option(names, out, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

template <class T>
void add(CLI::App& command, const char* names, T& out, const char* help) {
    last(command.add_option(names, out, help));
}

void add_number(CLI::App& command, const char* names, int& out, std::uint64_t most,
                const char* help) {
    last(command.add_option(names, out, help))
        ->transform(whole_number(0, most))
        ->capture_default_str();
}

void add_port(CLI::App& command, const char* name, int& out, const char* help) {
    add_number(command, name, out, 65'535, help);
}

template <class T>
void add_default(CLI::App& command, const char* names, T& out, const char* help) {
    last(command.add_option(names, out, help))->capture_default_str();
}

void add_pod_flags(CLI::App& command, workload::PodFlags& pod) {
    add(command, "--gpumemory", pod.gpu.gpumemory,
        "memory of a GPU share, in GiB or with a unit: 3, 3Gi or 3072Mi");
    add_number(command, "--gpucore", pod.gpu.gpucore, 100,
               "guaranteed percent of the GPU's compute time for the share, 1 to 100; 0: none");
    add_number(command, "--gpus", pod.gpu.gpus, 64, "whole GPUs, in place of a share");
    add(command, "--cpu", pod.cpu, "limit of CPUs, such as 2 or 500m");
    add(command, "--memory", pod.memory, "limit of memory, such as 4Gi");
    add_list(command, "--device", pod.devices, "another resource, as RESOURCE=AMOUNT");
    add(command, "--share-memory", pod.share_memory, "size of /dev/shm, such as 2Gi");
    add_list(command, "-e,--env", pod.env, "environment variable, as NAME=VALUE");
    add_list(command, "--env-from-secret", pod.env_from_secret,
             "environment variable with the value of a Secret's key of this name, as NAME=SECRET");
    add_list(command, "-d,--data", pod.data,
             "PersistentVolumeClaim and where it is mounted, as CLAIM:/path");
    add_list(command, "--data-subpath-expr", pod.data_subpath_expr,
             "folder of a claim of --data that is mounted, as CLAIM:FOLDER");
    add_list(command, "--data-dir", pod.data_dir,
             "folder of the node and where it is mounted, as /path[:/path]");
    add_list(command, "--temp-dir", pod.temp_dir, "empty folder, as NAME:/path");
    add_list(command, "-a,--annotation", pod.annotations, "annotation of the pods, as KEY=VALUE");
    add_list(command, "-l,--label", pod.labels, "label of the pods and objects, as KEY=VALUE");
    add_list(command, "--selector", pod.selectors, "label of the nodes to use, as KEY=VALUE");
    add_list(command, "--toleration", pod.tolerations,
             "all, KEY, KEY=VALUE:EFFECT or KEY=VALUE:EFFECT,OPERATOR");
    add_default(command, "--shell", pod.shell, "shell that runs the command");
    add(command, "--command", pod.command, "command line in place of the server's");
}

std::string home_path(const std::string& path) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || !path.starts_with("~/")) return path;
    return std::string(home) + path.substr(1);
}

bool is_of_the_job(const std::string& name) {
    return std::ranges::find(kNotOfTheJob, name) == kNotOfTheJob.end();
}

// "--gpus" of "--gpus=1".
std::string_view flag_of(std::string_view argument) {
    return argument.substr(0, argument.find('='));
}

bool has(const std::vector<std::string>& arguments, std::string_view flag) {
    return std::ranges::find(arguments, flag, flag_of) != arguments.end();
}

}  // namespace

void add_serve_flags(CLI::App& command, workload::ServeFlags& flags, CreateOptions& options) {
    last(command.add_option("--name", flags.name, "name of the serving job"))->required();
    add(command, "--version", flags.version, "version of the serving job, if there are several");
    add(command, "--image", flags.pod.image, "container image");
    add_default(command, "--image-pull-policy", flags.pod.image_pull_policy,
                "Always, IfNotPresent or Never");
    add_list(command, "--image-pull-secret", flags.pod.image_pull_secrets,
             "Secret for the image's registry");
    add_number(command, "--replicas", flags.replicas, 10'000, "number of pods");
    add(command, "--max-surge", flags.max_surge,
        "pods beyond --replicas during an update, as a number or a percentage");
    add(command, "--max-unavailable", flags.max_unavailable,
        "pods that may be missing during an update, as a number or a percentage");
    add_pod_flags(command, flags.pod);
    add_list(command, "--config-file", options.config_files,
             "local file and where the container gets it, as FILE[:/path]");
    last(command.add_option("-n,--namespace", flags.ns, "namespace of the serving job"));
    command.add_flag("--dry-run", options.dry_run, "only print the objects");
    add_output(command, options.output, {"json", "yaml"})->description("format of --dry-run");
    add_connection(command, options.kube);
}

void add_tensorflow_flags(CLI::App& command, workload::TensorflowFlags& flags) {
    add(command, "--model-name", flags.model_name, "name of the model in requests");
    add(command, "--model-path", flags.model_path, "folder with the model's versions");
    add(command, "--version-policy", flags.version_policy,
        "versions to serve: latest, latest:N, specific:N[,M...] or all");
    add(command, "--model-config-file", flags.model_config_file,
        "file in the container that names the models, in place of the three flags above");
    add(command, "--monitoring-config-file", flags.monitoring_config_file,
        "file in the container with the server's monitoring configuration");
    add_port(command, "--port", flags.port, "gRPC port; 0: none");
    add_port(command, "--restful-port", flags.restful_port, "REST port; 0: none");
    add_default(command, "--gpu-context-memory", flags.context_memory,
                "part of --gpumemory that is left to the CUDA context and its libraries");
}

void add_triton_flags(CLI::App& command, workload::TritonFlags& flags) {
    add(command, "--model-repository", flags.model_repository, "folder with the models");
    add_list(command, "--load-model", flags.load_model, "load only this model");
    add_port(command, "--http-port", flags.http_port, "HTTP port");
    add_port(command, "--grpc-port", flags.grpc_port, "gRPC port; 0: none");
    add_port(command, "--metrics-port", flags.metrics_port, "port of --allow-metrics");
    add(command, "--allow-metrics", flags.allow_metrics, "serve metrics: true or false");
    add(command, "--extend-command", flags.extend_command, "more arguments of the server");
}

void add_custom_flags(CLI::App& command, workload::CustomFlags& flags) {
    add_port(command, "--port", flags.port, "gRPC port; 0: none");
    add_port(command, "--restful-port", flags.restful_port, "REST port; 0: none");
    add_port(command, "--metrics-port", flags.metrics_port, "port with metrics; 0: none");
    add(command, "--health-path", flags.health_path,
        "path of the REST port that answers 200 when the server is ready");
    command.add_option("words", flags.words, "command line of the server");
}

std::vector<std::string> given_flags(const CLI::App& command) {
    std::vector<std::string> out;
    std::vector<std::string> words;
    for (const CLI::Option* option : command.get_options()) {
        if (option->count() == 0) continue;
        if (option->get_lnames().empty()) {
            words = option->results();
            continue;
        }
        const std::string& name = option->get_lnames().front();
        if (!is_of_the_job(name)) continue;
        const bool is_list = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
        const std::vector<std::string> values =
            is_list ? option->results() : std::vector<std::string>{option->results().back()};
        for (const std::string& value : values)
            out.push_back(fmt::format("--{}={}", name, value));
    }
    if (words.empty()) return out;
    out.emplace_back("--");
    out.insert(out.end(), words.begin(), words.end());
    return out;
}

std::vector<std::string> merged_flags(const std::vector<std::string>& earlier,
                                      const std::vector<std::string>& later) {
    const bool whole = has(later, "--gpus");
    const bool share = has(later, "--gpumemory");
    const auto end = std::ranges::find(earlier, "--");
    const bool new_words = std::ranges::find(later, "--") != later.end();
    std::vector<std::string> out;
    for (auto at = earlier.begin(); at != end; ++at) {
        const std::string_view flag = flag_of(*at);
        if (whole && (flag == "--gpumemory" || flag == "--gpucore")) continue;
        if (share && flag == "--gpus") continue;
        out.push_back(*at);
    }
    out.insert(out.end(), later.begin(), later.end());
    if (!new_words) out.insert(out.end(), end, earlier.end());
    return out;
}

Result<std::vector<workload::File>> read_config_files(const std::vector<std::string>& texts) {
    std::vector<workload::File> out;
    std::size_t bytes = 0;
    for (const std::string& text : texts) {
        const std::size_t colon = text.find(':');
        const std::string local = home_path(text.substr(0, colon));
        const std::string path =
            colon == std::string::npos ? fs::absolute(local).string() : text.substr(colon + 1);
        if (!path.starts_with('/') || path.ends_with('/')) {
            return fail(Code::invalid_argument,
                        fmt::format("--config-file: \"{}\" does not end with the absolute path of "
                                    "a file, as in models.config:/etc/models.config",
                                    text));
        }
        auto content = read_text_file(local);
        if (!content) return fail(content.error().in("--config-file"));
        bytes += content->size();
        out.push_back({path, *std::move(content)});
    }
    if (bytes <= kMostFileBytes) return out;
    return fail(Code::invalid_argument,
                fmt::format("--config-file: the files have {} KiB together, and may have {} KiB; "
                            "put large files on a volume (--data)",
                            bytes >> 10, kMostFileBytes >> 10));
}

}  // namespace tessera

#include "programs/tessera/workload/pod_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "adapters/os/text_file.hpp"
#include "base/dns_name.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/workload/flag_options.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Options that say where and how, and do not describe the job.
constexpr auto kNotOfTheJob = std::to_array<std::string_view>(
    {"namespace", "context", "kubeconfig", "dry-run", "output", "wait", "wait-timeout", "help"});
// A ConfigMap has at most 1 MiB.
constexpr std::size_t kMostFileBytes = std::size_t{1000} << 10;

std::string home_path(const std::string& path) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || !path.starts_with("~/")) return path;
    return std::string(home) + path.substr(1);
}

// Where the container gets the file of a text of --config-file.
std::string path_of_file(const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == std::string::npos ? fs::absolute(home_path(text)).string()
                                      : text.substr(colon + 1);
}

bool is_of_the_job(const std::string& name) {
    return std::ranges::find(kNotOfTheJob, name) == kNotOfTheJob.end();
}

}  // namespace

void add_pod_options(CLI::App& command, workload::PodFlags& pod, CreateOptions& options) {
    add_flag_value(command, "--image", pod.image, "container image");
    add_default(command, "--image-pull-policy", pod.image_pull_policy,
                "Always, IfNotPresent or Never");
    add_list(command, "--image-pull-secret", pod.image_pull_secrets,
             "Secret for the image's registry");
    add_flag_value(command, "--gpumemory", pod.gpu.gpumemory,
                   "memory of a GPU share, in GiB or with a unit: 3, 3Gi or 3072Mi");
    add_number(command, "--gpucore", pod.gpu.gpucore, 100,
               "guaranteed percent of the GPU's compute time for the share, 1 to 100; 0: none");
    add_number(command, "--gpus", pod.gpu.gpus, 64, "whole GPUs, in place of a share");
    add_flag_value(command, "--cpu", pod.cpu, "limit of CPUs, such as 2 or 500m");
    add_flag_value(command, "--memory", pod.memory, "limit of memory, such as 4Gi");
    add_list(command, "--device", pod.devices, "another resource, as RESOURCE=AMOUNT");
    add_flag_value(command, "--share-memory", pod.share_memory, "size of /dev/shm, such as 2Gi");
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
    add_flag_value(command, "--command", pod.command,
                   "command line of the container, in place of that of the kind of job");
    add_list(command, "--config-file", options.config_files,
             "local file and where the container gets it, as FILE[:/path]");
    command.add_flag("--dry-run", options.dry_run, "only print the objects");
    add_output(command, options.output, {"json", "yaml"})->description("format of --dry-run");
    add_connection(command, options.kube);
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
        for (const std::string& value : name == "config-file" ? with_paths(values) : values)
            out.push_back(fmt::format("--{}={}", name, value));
    }
    if (words.empty()) return out;
    out.emplace_back("--");
    out.insert(out.end(), words.begin(), words.end());
    return out;
}

Result<std::vector<std::string>> recorded_arguments(const CLI::App& command,
                                                    std::vector<std::string> names) {
    for (std::string& flag : given_flags(command)) {
        if (!is_utf8(flag)) {
            return fail(Code::invalid_argument, fmt::format("{}: its value is not UTF-8 text",
                                                            flag.substr(0, flag.find('='))));
        }
        names.push_back(std::move(flag));
    }
    return names;
}

std::vector<std::string> with_paths(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    out.reserve(texts.size());
    for (const std::string& text : texts) {
        const bool has_path = text.find(':') != std::string::npos;
        out.push_back(has_path ? text : text + ":" + path_of_file(text));
    }
    return out;
}

Result<std::vector<workload::File>> read_config_files(const std::vector<std::string>& texts) {
    std::vector<workload::File> out;
    std::size_t bytes = 0;
    for (const std::string& text : texts) {
        const std::string local = home_path(text.substr(0, text.find(':')));
        const std::string path = path_of_file(text);
        if (!path.starts_with('/') || path.ends_with('/')) {
            return fail(Code::invalid_argument,
                        fmt::format("--config-file: \"{}\" does not end with the absolute path of "
                                    "a file, as in models.config:/etc/models.config",
                                    text));
        }
        auto content = read_text_file(local);
        if (!content) return fail(content.error().in("--config-file"));
        if (!is_utf8(*content)) {
            return fail(Code::invalid_argument,
                        fmt::format("--config-file: {} is not UTF-8 text; put other files on a "
                                    "volume (--data)",
                                    local));
        }
        bytes += content->size();
        out.push_back({path, *std::move(content)});
    }
    if (bytes <= kMostFileBytes) return out;
    return fail(Code::invalid_argument,
                fmt::format("--config-file: the files have {} KiB together, and may have {} KiB; "
                            "put large files on a volume (--data)",
                            bytes >> 10, kMostFileBytes >> 10));
}

// --dry-run needs no cluster.
Result<KubeConnection> connection_for(const CreateOptions& options) {
    auto connection = connect_info(options.kube);
    if (!connection && options.dry_run && options.kube.path.empty())
        return KubeConnection{.endpoint = {}, .ns = "default"};
    return connection;
}

Result<std::string> checked_namespace(const std::string& given, const KubeConnection& connection) {
    const std::string& ns = given.empty() ? connection.ns : given;
    if (is_dns_label(ns)) return ns;
    return fail(Code::invalid_argument,
                fmt::format("--namespace: \"{}\" is not a valid namespace name", ns));
}

void say(const std::string& line) {
    std::cout << line << "\n" << std::flush;
}

void warn(const std::string& line) {
    std::cerr << "tessera: " << line << "\n";
}

void print_objects(const std::vector<std::string>& objects, const std::string& format) {
    for (const std::string& object : objects) {
        if (format == "json") {
            say(object);
        } else {
            std::cout << "---\n" << yaml_of_json(object);
        }
    }
}

}  // namespace tessera

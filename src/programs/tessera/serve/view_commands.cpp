// serve list, get, logs, attach and delete.
#include <fmt/format.h>

#include <iostream>

#include "adapters/workload/kube_servings.hpp"
#include "app/workload/serve.hpp"
#include "app/workload/serving_text.hpp"
#include "app/workload/traffic_split.hpp"
#include "base/dns_name.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/serve/serve_commands.hpp"
#include "programs/tessera/workload/attach_options.hpp"
#include "programs/tessera/workload/log_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

using workload::ServingStatus;

// Options of all these commands.
struct ViewOptions {
    KubeConfigOptions kube;
    std::string ns;
    std::string type;
    std::optional<std::string> version;
    std::vector<std::string> names;
    std::string output;
    bool all = false;  // namespaces

    void add_to(CLI::App& command) {
        command.add_option("-n,--namespace", ns, "namespace of the serving jobs");
        command.add_option("-T,--type", type, "tf-serving, triton-serving or custom-serving");
        add_connection(command, kube);
    }
    void add_name(CLI::App& command, std::string& name) {
        command.add_option("name", name, "the serving job")->required();
        command.add_option("-v,--version", version, "its version, if there are several");
        add_to(command);
    }
    [[nodiscard]] Result<ServingChoice> choice(const KubeConnection& connection,
                                               const std::string& name) const {
        ServingChoice out{.ns = {}, .name = name, .version = version, .type = {}};
        TRY(out.ns, checked_namespace(ns, connection));
        if (!is_dns_label(name) && !name.empty()) {
            return fail(Code::invalid_argument,
                        fmt::format("\"{}\" is not the name of a serving job", name));
        }
        if (!type.empty()) {
            TRY(out.type, workload::parse_serving_type(type));
        }
        return out;
    }
};

Result<int> list(const ViewOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const ServingChoice choice, options.choice(connection, ""));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(auto jobs, cluster.list(options.all ? "" : choice.ns, ""));
    if (choice.type)
        std::erase_if(jobs, [&](const ServingStatus& job) { return job.id.type != *choice.type; });
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    const WorkloadView view = view_of(nodes);
    if (is_object(options.output)) {
        print_json(serving_list_json(jobs, view), options.output);
        return 0;
    }
    if (jobs.empty()) {
        warn("no serving jobs in " + (options.all ? "any namespace" : "namespace " + choice.ns));
        return 0;
    }
    std::cout << serving_table(jobs, view, options.all);
    return 0;
}

struct GetOptions {
    ViewOptions view;
    std::string name;
};

Result<int> get(const GetOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, options.name));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(const ServingStatus job, find_serving(cluster, choice));
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    const WorkloadView view = view_of(nodes);
    if (!is_object(options.view.output)) {
        std::cout << serving_text(job, view);
    } else {
        print_json(serving_json(job, view), options.view.output);
    }
    return 0;
}

struct LogsOptions {
    ViewOptions view;
    std::string name;
    LogOptions logs;
};

Result<int> logs(const LogsOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, options.name));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(const ServingStatus job, find_serving(cluster, choice));
    TRY(const workload::WorkloadPod pod, pod_for_logs(job, options.logs.instance));
    const std::string_view container = row_of(job.id.type).container;
    TRY_VOID(print_log(api, {job.ns, pod.name}, container, pod.why, options.logs));
    return 0;
}

struct AttachServingOptions {
    ViewOptions view;
    std::string name;
    AttachOptions attach;
};

Result<int> attach_to_serving(const AttachServingOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, options.name));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(const ServingStatus job, find_serving(cluster, choice));
    TRY(const workload::WorkloadPod pod, pod_for_command(job, options.attach.instance));
    return attach(api, job.ns, pod, row_of(job.id.type).container, options.attach);
}

Result<int> remove(const ViewOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    int status = 0;
    for (const std::string& name : options.names) {
        TRY(const ServingChoice choice, options.choice(connection, name));
        const auto job = remove_serving(cluster, choice);
        if (!job) {
            status = print_error("tessera", job.error());
            continue;
        }
        say(fmt::format("The serving job {}{} is deleted", name,
                        job->id.version.empty() ? "" : " version " + job->id.version));
    }
    return status;
}

}  // namespace

CommandRow serve_list_command() {
    return {.name = "list",
            .summary = "List serving jobs",
            .example = "tessera serve list",
            .options = options_and_run<ViewOptions>(
                [](CLI::App& command, ViewOptions& options) {
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all,
                                     "of all namespaces");
                    options.add_to(command);
                    add_output(command, options.output, {"json", "yaml", "wide"});
                },
                list),
            .aliases = {"ls"}};
}

CommandRow serve_get_command() {
    return {.name = "get",
            .summary = "Show a serving job, its pods, and why they wait",
            .example = "tessera serve get mnist",
            .options = options_and_run<GetOptions>(
                [](CLI::App& command, GetOptions& options) {
                    options.view.add_name(command, options.name);
                    add_output(command, options.view.output, {"json", "yaml", "wide"});
                },
                get)};
}

CommandRow serve_logs_command() {
    return {.name = "logs",
            .summary = "Show the log of a serving job",
            .example = "tessera serve logs mnist -f",
            .options = options_and_run<LogsOptions>(
                [](CLI::App& command, LogsOptions& options) {
                    options.view.add_name(command, options.name);
                    options.logs.add_to(command);
                },
                logs),
            .aliases = {"log"}};
}

CommandRow serve_attach_command() {
    return {.name = "attach",
            .summary = "Run a command, or a shell, in a pod of a serving job",
            .example = "tessera serve attach mnist -- nvidia-smi",
            .options = options_and_run<AttachServingOptions>(
                [](CLI::App& command, AttachServingOptions& options) {
                    options.view.add_name(command, options.name);
                    options.attach.add_to(command);
                },
                attach_to_serving)};
}

CommandRow serve_delete_command() {
    return {.name = "delete",
            .summary = "Delete serving jobs with all that belongs to them",
            .example = "tessera serve delete mnist",
            .options = options_and_run<ViewOptions>(
                [](CLI::App& command, ViewOptions& options) {
                    command.add_option("names", options.names, "the serving jobs")->required();
                    command.add_option("-v,--version", options.version,
                                       "the version, if there are several");
                    options.add_to(command);
                },
                remove),
            .aliases = {"del"}};
}

}  // namespace tessera

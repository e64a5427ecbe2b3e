// serve list, get, logs and delete.
#include <fmt/format.h>

#include <iostream>

#include "adapters/os/system_clock.hpp"
#include "adapters/workload/kube_servings.hpp"
#include "app/workload/serve.hpp"
#include "app/workload/serving_text.hpp"
#include "base/dns_name.hpp"
#include "programs/common/validators.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/serve/serve_commands.hpp"

namespace tessera {
namespace {

using workload::ServingStatus;

// Options of all these commands.
struct ViewOptions {
    KubeConfigOptions kube;
    std::string ns;
    std::string type;
    std::string version;
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
        ServingChoice out{
            .ns = ns.empty() ? connection.ns : ns, .name = name, .version = {}, .type = {}};
        if (!is_dns_label(out.ns)) {
            return fail(Code::invalid_argument,
                        fmt::format("--namespace: \"{}\" is not a valid namespace name", out.ns));
        }
        if (!is_dns_label(name) && !name.empty()) {
            return fail(Code::invalid_argument,
                        fmt::format("\"{}\" is not the name of a serving job", name));
        }
        if (!version.empty()) out.version = version;
        if (!type.empty()) {
            TRY(out.type, workload::parse_serving_type(type));
        }
        return out;
    }
};

// A user without the right to list nodes sees no fractions of GPUs.
ServingView view_of(const std::vector<NodeInventory>& nodes) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    return {.nodes = nodes, .now_s = SystemClock().unix_ns() / kNsPerSecond};
}

void print(const std::string& json, const std::string& output) {
    if (output == "yaml") {
        std::cout << yaml_of_json(json);
    } else {
        std::cout << json << "\n";
    }
}

struct ListOptions {
    ViewOptions view;
};

Result<int> list(const ListOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, ""));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(auto jobs, cluster.list(options.view.all ? "" : choice.ns, ""));
    if (choice.type)
        std::erase_if(jobs, [&](const ServingStatus& job) { return job.id.type != *choice.type; });
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    const ServingView view = view_of(nodes);
    if (!options.view.output.empty()) {
        print(serving_list_json(jobs, view), options.view.output);
        return 0;
    }
    if (jobs.empty()) {
        std::cerr << "tessera: no serving jobs in "
                  << (options.view.all ? "any namespace" : "namespace " + choice.ns) << "\n";
        return 0;
    }
    std::cout << serving_table(jobs, view, options.view.all);
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
    const ServingView view = view_of(nodes);
    if (options.view.output.empty()) {
        std::cout << serving_text(job, view);
    } else {
        print(serving_json(job, view), options.view.output);
    }
    return 0;
}

struct LogsOptions {
    ViewOptions view;
    std::string name;
    std::string instance;
    Servings::LogOptions logs;
};

Result<int> logs(const LogsOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, options.name));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    TRY(const ServingStatus job, find_serving(cluster, choice));
    TRY(const workload::ServingPod pod, pod_for_logs(job, options.instance));
    const auto shown = cluster.logs(job.ns, pod.name, options.logs,
                                    [](std::string_view text) { std::cout << text << std::flush; });
    if (shown) return 0;
    Error error = shown.error();
    if (!pod.why.empty()) error.text += "; " + pod.why;
    return fail(error);
}

struct DeleteOptions {
    ViewOptions view;
};

Result<int> remove(const DeleteOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    int status = 0;
    for (const std::string& name : options.view.names) {
        TRY(const ServingChoice choice, options.view.choice(connection, name));
        const auto job = find_serving(cluster, choice);
        const auto done = job ? cluster.remove(*job) : Result<>(fail(job.error()));
        if (!done) {
            status = print_error("tessera", done.error());
            continue;
        }
        std::cout << fmt::format("The serving job {}{} is deleted\n", name,
                                 job->id.version.empty() ? "" : " version " + job->id.version)
                  << std::flush;
    }
    return status;
}

}  // namespace

CommandRow serve_list_command() {
    return {.name = "list",
            .summary = "List serving jobs",
            .example = "tessera serve list",
            .options = options_and_run<ListOptions>(
                [](CLI::App& command, ListOptions& options) {
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.view.all,
                                     "of all namespaces");
                    options.view.add_to(command);
                    add_output(command, options.view.output, {"json", "yaml"});
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
                    add_output(command, options.view.output, {"json", "yaml"});
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
                    command.add_flag("-f,--follow", options.logs.follow, "until the pod ends");
                    command.add_option("-i,--instance", options.instance,
                                       "the pod, if there are several");
                    command.add_option("-c,--container", options.logs.container,
                                       "its container, if there are several");
                    command.add_option("-t,--tail", options.logs.tail, "only the last lines")
                        ->transform(whole_number(0, 1'000'000'000));
                    command.add_flag("--timestamps", options.logs.timestamps,
                                     "with the time of each line");
                    command.add_flag("-p,--previous", options.logs.previous,
                                     "of the container's start before this one");
                },
                logs),
            .aliases = {"log"}};
}

CommandRow serve_delete_command() {
    return {.name = "delete",
            .summary = "Delete serving jobs with all that belongs to them",
            .example = "tessera serve delete mnist",
            .options = options_and_run<DeleteOptions>(
                [](CLI::App& command, DeleteOptions& options) {
                    command.add_option("names", options.view.names, "the serving jobs")->required();
                    command.add_option("-v,--version", options.view.version,
                                       "the version, if there are several");
                    options.view.add_to(command);
                },
                remove),
            .aliases = {"del"}};
}

}  // namespace tessera

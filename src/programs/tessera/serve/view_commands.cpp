// serve list, get, logs, attach and delete.
#include <fmt/format.h>

#include <iostream>
#include <set>

#include "adapters/workload/kube_object_events.hpp"
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
#include "programs/tessera/workload/watched.hpp"

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

struct ListOptions {
    ViewOptions view;
    bool all = false;  // namespaces
    bool watch = false;
};

Result<std::vector<ServingStatus>> jobs_of(KubeServings& cluster, const ServingChoice& choice,
                                           bool all_namespaces) {
    TRY(auto jobs, cluster.list(all_namespaces ? "" : choice.ns, ""));
    if (choice.type)
        std::erase_if(jobs, [&](const ServingStatus& job) { return job.id.type != *choice.type; });
    return jobs;
}

Result<int> list(const ListOptions& options) {
    TRY_VOID(check_watch(options.watch, options.view.output));
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, ""));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    if (options.watch) {
        return watch([&]() -> Result<Frame> {
            TRY(const auto jobs, jobs_of(cluster, choice, options.all));
            Frame frame{.text = serving_table(jobs, view_of(nodes), options.all), .lines = {}};
            frame.lines.reserve(jobs.size());
            for (const ServingStatus& job : jobs)
                frame.lines.push_back(progress_of(job, options.all));
            return frame;
        });
    }
    TRY(const auto jobs, jobs_of(cluster, choice, options.all));
    if (is_object(options.view.output)) {
        print_json(serving_list_json(jobs, view_of(nodes)), options.view.output);
        return 0;
    }
    if (jobs.empty()) {
        warn("no serving jobs in " + (options.all ? "any namespace" : "namespace " + choice.ns));
        return 0;
    }
    std::cout << serving_table(jobs, view_of(nodes), options.all);
    return 0;
}

struct GetOptions {
    ViewOptions view;
    std::string name;
    bool events = false;
    bool watch = false;
};

// Of the job's Deployment and pods.
Result<std::vector<workload::ObjectEvent>> events_of(HttpClient& api, const ServingStatus& job) {
    std::set<std::string> uids{job.uid};
    for (const workload::WorkloadPod& pod : job.pods)
        uids.insert(pod.uid.str());
    return read_object_events(api, job.ns, uids);
}

// The job as text or JSON.
Result<std::string> shown(HttpClient& api, const ServingStatus& job, const GetOptions& options,
                          const std::vector<NodeInventory>& nodes) {
    WorkloadView view = view_of(nodes);
    std::vector<workload::ObjectEvent> events;
    if (options.events) {
        TRY(events, events_of(api, job));
        view.events = &events;
    }
    return is_object(options.view.output) ? serving_json(job, view) : serving_text(job, view);
}

Result<int> get(const GetOptions& options) {
    TRY_VOID(check_watch(options.watch, options.view.output));
    TRY(const KubeConnection connection, connect_info(options.view.kube));
    TRY(const ServingChoice choice, options.view.choice(connection, options.name));
    HttpClient api(connection.endpoint);
    KubeServings cluster(api);
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    if (options.watch) {
        return watch([&]() -> Result<Frame> {
            TRY(const ServingStatus job, find_serving(cluster, choice));
            Frame frame{.text = {}, .lines = {progress_of(job, false)}};
            TRY(frame.text, shown(api, job, options, nodes));
            return frame;
        });
    }
    TRY(const ServingStatus job, find_serving(cluster, choice));
    TRY(const std::string text, shown(api, job, options, nodes));
    if (is_object(options.view.output)) {
        print_json(text, options.view.output);
    } else {
        std::cout << text;
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
            .options = options_and_run<ListOptions>(
                [](CLI::App& command, ListOptions& options) {
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all,
                                     "of all namespaces");
                    add_watch(command, options.watch);
                    options.view.add_to(command);
                    add_output(command, options.view.output, {"json", "yaml", "wide"});
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
                    command.add_flag("-e,--events", options.events,
                                     "with the events of the job and its pods");
                    add_watch(command, options.watch);
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

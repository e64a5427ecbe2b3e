// whoami and data list: what the user is and has in the cluster.
#include <iostream>

#include "adapters/workload/kube_user.hpp"
#include "app/workload/data_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

struct CallerOptions {
    KubeConfigOptions kube;
    std::string output = "json";
};

// The first three members are Arena's.
std::string caller_json(const Caller& caller, const std::string& ns) {
    JsonWriter w;
    w.object([&] {
        w.member("Name", caller.user.name);
        w.member("Id", caller.user.uid.empty() ? caller.user.name : caller.user.uid);
        w.member("IsAdminUser", caller.is_admin);
        w.array("Groups", [&] {
            for (const std::string& group : caller.user.groups)
                w.item(group);
        });
        w.member("Namespace", ns);
    });
    return w.take();
}

Result<int> whoami(const CallerOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(const Caller caller, read_caller(api));
    print_json(caller_json(caller, connection.ns), options.output);
    return 0;
}

struct DataOptions {
    KubeConfigOptions kube;
    std::string ns;
    std::string output;
    bool all = false;  // namespaces
};

Result<int> list_data(const DataOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const std::string ns, checked_namespace(options.ns, connection));
    HttpClient api(connection.endpoint);
    TRY(const auto volumes, read_data_volumes(api, options.all ? "" : ns));
    if (is_object(options.output)) {
        print_json(data_json(volumes), options.output);
    } else if (volumes.empty()) {
        warn("no volume that can be mounted in " +
             (options.all ? "any namespace" : "namespace " + ns));
    } else {
        std::cout << data_table(volumes, view_of({}).now_s, options.all);
    }
    return 0;
}

CommandRow data_list_command() {
    return {.name = "list",
            .summary = "List the volumes that jobs can mount with --data",
            .example = "tessera data list",
            .options = options_and_run<DataOptions>(
                [](CLI::App& command, DataOptions& options) {
                    command.add_option("-n,--namespace", options.ns, "namespace of the volumes");
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all,
                                     "of all namespaces");
                    add_output(command, options.output, {"json", "yaml", "wide"});
                    add_connection(command, options.kube);
                },
                list_data),
            .aliases = {"ls"}};
}

}  // namespace

CommandRow whoami_command() {
    return {"whoami", "Show as which user the API server knows you", "tessera whoami",
            options_and_run<CallerOptions>(
                [](CLI::App& command, CallerOptions& options) {
                    add_output(command, options.output, {"json", "yaml"})->capture_default_str();
                    add_connection(command, options.kube);
                },
                whoami)};
}

CommandRow data_command() {
    return {.name = "data",
            .summary = "Show the data that jobs can use",
            .example = "tessera data list",
            .commands = {data_list_command()}};
}

}  // namespace tessera

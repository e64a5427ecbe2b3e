// serve traffic-split.
#include <fmt/format.h>

#include <optional>

#include "adapters/workload/kube_servings.hpp"
#include "adapters/workload/kube_traffic_splits.hpp"
#include "app/workload/traffic_split.hpp"
#include "base/dns_name.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/serve/serve_commands.hpp"
#include "programs/tessera/workload/flag_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {
namespace {

struct SplitOptions {
    KubeConfigOptions kube;
    std::string ns;
    std::string name;
    std::vector<std::string> weights;
    std::optional<std::string> gateway;
    std::optional<std::string> hostname;
    bool scale = false;
    bool remove = false;
};

// What --remove would ignore is refused.
Result<> check(const SplitOptions& options) {
    if (!options.remove && options.weights.empty()) {
        return fail(Code::invalid_argument,
                    "-v: is missing; name the versions and their parts, as in -v v1:50 -v v2:50");
    }
    const bool has_more =
        !options.weights.empty() || options.gateway || options.hostname || options.scale;
    if (options.remove && has_more) {
        return fail(Code::invalid_argument,
                    "--remove: ends the whole split; leave out the other flags");
    }
    return {};
}

Result<SplitRequest> request_of(const SplitOptions& options, const KubeConnection& connection) {
    SplitRequest out{.ns = {},
                     .name = options.name,
                     .weights = {},
                     .gateway = {},
                     .hostname = {},
                     .scale = options.scale};
    TRY_VOID(check(options));
    if (!options.remove) {
        TRY(out.weights, workload::parse_weights(options.weights));
    }
    TRY(out.ns, checked_namespace(options.ns, connection));
    if (!is_dns_label(out.name)) {
        return fail(Code::invalid_argument,
                    fmt::format("--name: \"{}\" is not the name of a serving job", out.name));
    }
    if (options.gateway) {
        TRY(out.gateway, workload::parse_gateway(*options.gateway, out.ns));
    }
    if (options.hostname) {
        TRY(out.hostname, workload::parse_hostname(*options.hostname));
    }
    return out;
}

Result<int> split(const SplitOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const SplitRequest request, request_of(options, connection));
    HttpClient api(connection.endpoint);
    KubeServings servings(api);
    KubeTrafficSplits splits(api);
    TRY_VOID(options.remove ? remove_split(servings, splits, request.ns, request.name, say)
                            : split_traffic(servings, splits, request, say));
    return 0;
}

}  // namespace

CommandRow serve_traffic_split_command() {
    return {.name = "traffic-split",
            .summary = "Split the traffic of one address among versions of a serving job",
            .example = "tessera serve traffic-split --name mnist -v v1:50 -v v2:50",
            .options = options_and_run<SplitOptions>(
                [](CLI::App& command, SplitOptions& options) {
                    last(command.add_option("--name", options.name, "name of the serving job"))
                        ->required();
                    add_list(command, "-v,--version-weight", options.weights,
                             "version and its percent of the traffic, as VERSION:30; the weights "
                             "total 100, and a bare VERSION gets all");
                    add_flag_value(command, "-n,--namespace", options.ns,
                                   "namespace of the serving job");
                    add_flag_value(command, "--gateway", options.gateway,
                                   "Gateway that splits the traffic, as NAME[/NAMESPACE]; default: "
                                   "that of the HTTPRoute, or else a Service splits it");
                    add_flag_value(command, "--hostname", options.hostname,
                                   "host name of the requests that the Gateway splits; default: "
                                   "NAME.NAMESPACE; *: all");
                    command.add_flag("--scale", options.scale,
                                     "change the numbers of pods to those that split so");
                    command.add_flag("--remove", options.remove,
                                     "end the split; each version keeps its own address");
                    add_connection(command, options.kube);
                },
                split)};
}

}  // namespace tessera

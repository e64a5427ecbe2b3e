#include <iostream>

#include "app/cli/gpushare_text.hpp"
#include "app/cli/tables.hpp"
#include "programs/common/yaml_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/usage_reader.hpp"

namespace tessera {
namespace {

struct InspectOptions {
    UsageOptions usage;
    bool details = false;
};

void add_options(CLI::App& command, InspectOptions& options) {
    CLI::Option* details = command.add_flag("-d,--details", options.details, "a line per pod");
    command.add_option("node", options.usage.node, "only this node");
    add_output(command, options.usage.output, {"json", "yaml", "wide"})->excludes(details);
    add_connection(command, options.usage.kube);
}

std::string render(const InspectOptions& options, std::span<const NodeUsage> nodes) {
    if (options.usage.output == "json") return usage_json(nodes) + "\n";
    if (options.usage.output == "yaml") return yaml_of_json(usage_json(nodes));
    if (options.usage.output == "wide") return wide_table(nodes);
    return (options.details ? gpushare_details(nodes, CountedGpus::usable)
                            : gpushare_summary(nodes, CountedGpus::usable)) +
           unusable_gpus_text(nodes);
}

// Nodes without a ready agent are named on stderr.
Result<int> inspect(const InspectOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.usage.kube));
    HttpClient api(connection.endpoint);
    TRY(auto nodes, load_usage(api, options.usage));
    TRY_VOID(load_agents(api, nodes));
    std::cout << render(options, nodes);
    print_agents_missing(nodes);
    return 0;
}

}  // namespace

CommandRow inspect_command() {
    return {"inspect", "Show which pods use which GPU", "tessera inspect --details node-a",
            options_and_run<InspectOptions>(add_options, inspect)};
}

}  // namespace tessera

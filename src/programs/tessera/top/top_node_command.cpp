#include <iostream>

#include "app/top/node_text.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/shares_reader.hpp"
#include "programs/tessera/top/refreshed.hpp"
#include "programs/tessera/top/top_commands.hpp"
#include "programs/tessera/usage_reader.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

struct NodeOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::vector<std::string> names;
    std::string mode;
    std::string output;
    bool share = false;
    bool details = false;
    bool metric = false;
    bool refresh = false;
};

Result<std::optional<NodeMode>> chosen_mode(const NodeOptions& options) {
    if (options.share && !options.mode.empty())
        return fail(Code::invalid_argument, "--share is --gpu-mode share; give one of them");
    if (options.share) return std::optional(NodeMode::share);
    if (options.mode.empty()) return std::optional<NodeMode>();
    TRY(const NodeMode mode, parse_node_mode(options.mode));
    return std::optional(mode);
}

Result<> check(const NodeOptions& options) {
    TRY_VOID(options.install.check());
    TRY_VOID(chosen_mode(options));
    if (options.refresh && (!options.details || options.names.size() != 1)) {
        return fail(Code::invalid_argument,
                    "--refresh shows one node again and again: name it, and add --details");
    }
    if (options.metric && !options.details && !is_object(options.output))
        return fail(Code::invalid_argument, "--metric has no column in this table: add --details");
    if (options.refresh && is_object(options.output))
        return fail(Code::invalid_argument, "--refresh is for text; leave out --output");
    return {};
}

// Of the nodes with shares.
std::vector<NodeUsage> shared_usages(std::span<const NodeRow> rows) {
    std::vector<NodeUsage> out;
    out.reserve(rows.size());
    for (const NodeRow& row : rows) {
        if (row.mode == NodeMode::share) out.push_back(row.usage);
    }
    return out;
}

Result<> show(HttpClient& api, const NodeOptions& options) {
    TRY(const auto mode, chosen_mode(options));
    TRY(auto cluster, load_cluster(api));
    const auto agents = std::move(cluster.agents);
    TRY(const auto rows, chosen_rows(node_rows(std::move(cluster)), options.names, mode));
    auto usages = shared_usages(rows);
    set_agents(usages, agents);
    const Shares shares =
        options.metric ? read_shares_of(api, options.install.ns, usages) : Shares();
    const NodeTextOptions view{.names_given = !options.names.empty(),
                               .per_gpu = options.output == "wide",
                               .has_uses = options.metric,
                               .uses = shares.lines};
    if (is_object(options.output)) {
        print_json(node_json(rows, view), options.output);
    } else if (rows.empty()) {
        warn(mode ? "no node has the mode " + std::string(words_of(*mode)) : "there are no nodes");
    } else {
        std::cout << (options.details ? node_details(rows, view) : node_table(rows, view));
    }
    print_agents_missing(usages);
    for (const std::string& warning : node_warnings(rows))
        warn(warning);
    print_silent(shares);
    return {};
}

Result<int> run(const NodeOptions& options) {
    TRY_VOID(check(options));
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    return shown_once_or_refreshed(options.refresh, [&] { return show(api, options); });
}

void add_options(CLI::App& command, NodeOptions& options) {
    command.add_option("nodes", options.names, "only these nodes");
    command.add_flag("-d,--details", options.details,
                     "each node with its pods and its GPUs, instead of a line");
    command.add_option("-m,--gpu-mode", options.mode,
                       "only nodes of this mode: none, exclusive, share, or their first letters");
    command.add_flag("-s,--share", options.share, "only nodes with GPU shares: --gpu-mode share");
    command.add_flag("--metric", options.metric,
                     "also what the programs use, as the agents measure it");
    command.add_flag("-r,--refresh", options.refresh,
                     "show one node again every 2 seconds, until Ctrl-C");
    options.install.add_to(command);
    add_output(command, options.output, {"json", "yaml", "wide"});
    add_connection(command, options.kube);
}

}  // namespace

CommandRow top_node_command() {
    return {.name = "node",
            .summary = "Show the GPUs of each node, and how much of them is allocated",
            .example = "tessera top node -d",
            .options = options_and_run<NodeOptions>(add_options, run),
            .aliases = {"nodes", "no"}};
}

}  // namespace tessera

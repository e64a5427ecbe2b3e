#include "programs/tessera/gpushare_plugin.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "app/cli/gpushare_text.hpp"
#include "programs/common/command_line.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/usage_reader.hpp"

namespace tessera {
namespace {

Result<std::string> show(const UsageOptions& options, bool details) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(const auto nodes, load_usage(api, options));
    return details ? gpushare_details(nodes) : gpushare_summary(nodes);
}

}  // namespace

int run_gpushare_plugin(int argc, char** argv) {
    CLI::App app{"Show which pods use which GPU", "kubectl-inspect-gpushare"};
    UsageOptions options;
    bool details = false;
    app.add_flag("-d,--details", details, "details");
    app.add_option("node", options.node, "only this node");
    add_connection(app, options.kube);
    try {
        app.parse(command_line(app, argc, argv));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const auto text = show(options, details);
    std::cout << (text ? *text : "Failed due to " + text.error().text);
    return text && std::cout.flush() ? 0 : 1;
}

}  // namespace tessera

#include <iostream>

#include "adapters/kube/kube_published_nodes.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/clean_nodes.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"

namespace tessera {
namespace {

struct CleanOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    bool dry_run = false;
    int timeout_s = 120;
};

void add_options(CLI::App& command, CleanOptions& options) {
    options.install.add_to(command);
    command.add_flag("--dry-run", options.dry_run, "only print what would be removed");
    command
        .add_option("--timeout", options.timeout_s,
                    "seconds to wait until the last agent has ended")
        ->transform(whole_number(1, 3600))
        ->capture_default_str();
    add_connection(command, options.kube);
}

Result<int> run(const CleanOptions& options) {
    TRY_VOID(options.install.check());
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    KubePublishedNodes nodes(api, options.install.ns);
    SystemClock clock;
    TRY_VOID(clean_nodes(
        nodes, clock,
        {.dry_run = options.dry_run, .patience = std::chrono::seconds(options.timeout_s)},
        {.print = [](const std::string& line) { std::cout << line << "\n"
                                                          << std::flush; },
         .report = [](const std::string& line) { std::cerr << "tessera: " << line << "\n"; }}));
    return 0;
}

}  // namespace

CommandRow clean_nodes_command() {
    return {"clean-nodes", "After an uninstall, remove what Tessera wrote on Node objects",
            "tessera clean-nodes --dry-run", options_and_run<CleanOptions>(add_options, run)};
}

}  // namespace tessera

#include <iostream>

#include "adapters/kube/kube_migration.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/migrate_text.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"

namespace tessera {
namespace {

struct MigrateOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::string from;
    std::vector<std::string> nodes;
    bool plan = false;
    bool apply = false;
    bool rollback = false;
    int timeout_s = 120;
};

void add_options(CLI::App& command, MigrateOptions& options) {
    command.add_option("FROM", options.from, "what serves the nodes now: gpushare")
        ->required()
        ->check(CLI::IsMember({"gpushare"}));
    CLI::Option* plan = command.add_flag("--plan", options.plan,
                                         "only show the steps, and what hinders them (the "
                                         "default); with --rollback: of the rollback");
    command.add_flag("--apply", options.apply, "migrate the nodes, one after the other")
        ->excludes(plan)
        ->excludes(command.add_flag("--rollback", options.rollback,
                                    "put migrated nodes back to gpushare, in reverse order"));
    command.add_option("--node", options.nodes, "only these nodes, in this order");
    command
        .add_option("--timeout", options.timeout_s,
                    "seconds to wait for a pod or a plugin, before the node is put back")
        ->transform(whole_number(1, 86'400))
        ->capture_default_str();
    options.install.add_to(command);
    add_connection(command, options.kube);
}

// The status is that of a conflict if something blocks the migration.
Result<int> run(const MigrateOptions& options) {
    TRY_VOID(options.install.check());
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    KubeMigration cluster(api, options.install.ns);
    const MigrateRequest request{.direction = options.rollback ? migration::Direction::to_gpushare
                                                               : migration::Direction::to_tessera,
                                 .nodes = options.nodes,
                                 .timeout = std::chrono::seconds(options.timeout_s)};
    if (options.plan || (!options.apply && !options.rollback)) {
        TRY(const MigrationPlan plan, plan_migration(cluster, request));
        std::cout << migration_text(request, plan) << std::flush;
        return plan.is_blocked() ? exit_status(Code::conflict) : 0;
    }
    SystemClock clock;
    TRY_VOID(apply_migration(cluster, clock, request, [](const std::string& line) {
        std::cout << line << "\n" << std::flush;
    }));
    return 0;
}

}  // namespace

CommandRow migrate_command() {
    return {"migrate", "Move nodes from gpushare to Tessera, while their pods run",
            "tessera migrate gpushare --plan", options_and_run<MigrateOptions>(add_options, run)};
}

}  // namespace tessera

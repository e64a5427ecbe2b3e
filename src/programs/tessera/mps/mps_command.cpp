#include <iostream>
#include <string>
#include <vector>

#include "adapters/kube/agent_reader.hpp"
#include "app/cli/mps_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/mps/mps_commands.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

struct StatusOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::string node;
    std::string output;
};

void add_options(CLI::App& command, StatusOptions& options) {
    command.add_option("node", options.node, "only this node");
    options.install.add_to(command);
    add_output(command, options.output, {"json", "yaml"});
    add_connection(command, options.kube);
}

// Exits with 1 if something is wrong, or an agent does not answer.
Result<int> run(const StatusOptions& options) {
    TRY_VOID(options.install.check());
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(const MpsAnswers answers, query_mps(api, options.install.ns, NodeName(options.node)));
    const std::vector<MpsReport>& nodes = answers.nodes;
    if (is_object(options.output)) {
        print_json(mps_json(nodes), options.output);
    } else if (!nodes.empty()) {
        std::cout << mps_table(nodes);
    }
    const std::string faults = mps_faults(nodes);
    std::cerr << faults;
    return answers.is_complete && faults.empty() ? 0 : 1;
}

CommandRow status_command() {
    return {.name = "status",
            .summary = "Show the GPUs in MPS mode, their control daemons and their containers",
            .example = "tessera mps status",
            .options = options_and_run<StatusOptions>(add_options, run),
            .commands = {}};
}

}  // namespace

Result<MpsAnswers> query_mps(HttpClient& api, const std::string& ns, const NodeName& node) {
    TRY(auto answers, query_agents_mps(api, ns, node));
    if (answers.empty()) {
        return fail(Code::not_found,
                    "no tessera-agent runs in namespace " + ns +
                        (node.empty() ? "" : " on node " + node.str()) +
                        " (set --tessera-namespace to the one where Tessera runs)");
    }
    MpsAnswers out;
    for (AgentMpsAnswer& answer : answers) {
        if (answer.mps) {
            out.nodes.push_back(*std::move(answer.mps));
            continue;
        }
        out.is_complete = false;
        std::cerr << "tessera: " << answer.node.str() << ": " << answer.mps.error().text << "\n";
    }
    return out;
}

CommandRow mps_command() {
    return {.name = "mps",
            .summary = "Show and check how pods share GPUs by NVIDIA MPS",
            .example = "tessera mps status",
            .options = {},
            .commands = {status_command(), mps_verify_command(), mps_logs_command()}};
}

}  // namespace tessera

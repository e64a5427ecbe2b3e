// Options that several commands of `tessera` have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "adapters/kubeconfig/kubeconfig.hpp"

namespace tessera {

// --context and --kubeconfig: the cluster, and the credentials for it.
inline void add_connection(CLI::App& command, KubeConfigOptions& options) {
    command.add_option("--context", options.context, "context of the kubeconfig");
    command.add_option("--kubeconfig,--config", options.path, "kubeconfig file (env KUBECONFIG)");
}

// -o, --output. `formats`: those apart from the table.
inline CLI::Option* add_output(CLI::App& command, std::string& output,
                               const std::vector<std::string>& formats) {
    std::string help;
    for (const std::string& format : formats) {
        const bool is_last = &format == &formats.back();
        help += (help.empty() ? "" : is_last ? " or " : ", ") + format;
    }
    return command.add_option("-o,--output", output, help)->check(CLI::IsMember(formats));
}

// --tessera-namespace: where Tessera runs. --namespace is always that of a pod.
struct InstallNamespace {
    std::string ns = "tessera-system";

    void add_to(CLI::App& command) {
        command.add_option("--tessera-namespace", ns, "namespace where Tessera runs")
            ->capture_default_str();
    }
    [[nodiscard]] Result<> check() const {
        if (!ns.empty()) return {};
        return fail(Code::invalid_argument,
                    "--tessera-namespace: is empty; leave it out, or name one");
    }
};

}  // namespace tessera

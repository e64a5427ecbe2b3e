#include <iostream>

#include "adapters/kube/doctor_reader.hpp"
#include "app/cli/doctor_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"

namespace tessera {
namespace {

struct DoctorOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::string output;  // empty or "json"
};

void add_options(CLI::App& command, DoctorOptions& options) {
    options.install.add_to(command);
    add_output(command, options.output, {"json"});
    add_connection(command, options.kube);
}

// The status is 1 if a check failed.
Result<int> run(const DoctorOptions& options) {
    TRY_VOID(options.install.check());
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    const doctor::Facts facts =
        read_doctor_facts(api, {.ns = options.install.ns, .own_version = TESSERA_VERSION});
    const auto findings = doctor::examine(facts);
    std::cout << (options.output == "json" ? doctor_json(findings) + "\n" : doctor_text(findings));
    return doctor_exit_status(findings);
}

}  // namespace

CommandRow doctor_command() {
    return {"doctor", "Check the cluster, and say what to fix", "tessera doctor",
            options_and_run<DoctorOptions>(add_options, run)};
}

}  // namespace tessera

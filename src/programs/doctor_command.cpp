#include "programs/doctor_command.hpp"

#include <iostream>

#include "adapters/kube/doctor_reader.hpp"
#include "app/cli/doctor_text.hpp"

namespace tessera {

int run_doctor(const KubeConfigOptions& kube, const std::string& space, const std::string& output) {
    const auto refuse = [](const Error& error) {
        std::cerr << "tessera: " << error.text << "\n";
        return exit_status(error.code);
    };
    if (space.empty())
        return refuse({Code::invalid_argument, "--namespace: is empty; leave it out, or name one"});
    const auto connection = connect_info(kube);
    if (!connection) return refuse(connection.error());
    const doctor::Facts facts =
        read_doctor_facts(connection->endpoint, {.space = space, .own_version = TESSERA_VERSION});
    const auto findings = doctor::examine(facts);
    std::cout << (output == "json" ? doctor_json(findings) + "\n" : doctor_text(findings));
    return doctor_exit_status(findings);
}

}  // namespace tessera

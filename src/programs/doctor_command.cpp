#include "programs/doctor_command.hpp"

#include <iostream>

#include "adapters/kube/doctor_reader.hpp"
#include "app/cli/doctor_text.hpp"

namespace tessera {

int run_doctor(const KubeConfigOptions& kube, const std::string& space, const std::string& output) {
    const auto connection = connect_info(kube);
    if (!connection) {
        std::cerr << "tessera: " << connection.error().text << "\n";
        return exit_status(connection.error().code);
    }
    const doctor::Facts facts =
        read_doctor_facts(connection->endpoint, {.space = space, .own_version = TESSERA_VERSION});
    const auto findings = doctor::examine(facts);
    std::cout << (output == "json" ? doctor_json(findings) + "\n" : doctor_text(findings));
    return doctor_exit_status(findings);
}

}  // namespace tessera

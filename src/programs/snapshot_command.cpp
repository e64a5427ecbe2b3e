#include "programs/snapshot_command.hpp"

#include <fmt/chrono.h>

#include <ctime>
#include <iostream>
#include <utility>

#include "adapters/kube/kube_snapshot.hpp"
#include "adapters/os/text_file.hpp"
#include "programs/common/validators.hpp"
#include "wire/snapshot_json.hpp"

namespace tessera {
namespace {

Result<> take(const SnapshotOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(ClusterSnapshot snapshot, read_cluster_snapshot(connection.endpoint));
    snapshot.taken = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    if (options.anonymous) snapshot = anonymous(std::move(snapshot));
    const std::string left_out = left_out_text(snapshot.left_out);
    if (!left_out.empty()) std::cerr << "tessera: " << left_out << "\n";
    const std::string text = write_snapshot(snapshot);
    if (options.file.empty() || options.file == "-") {
        std::cout << text;
        return {};
    }
    return write_text_file(options.file, text);
}

}  // namespace

CLI::App* add_snapshot(CLI::App& app, SnapshotOptions& options) {
    CLI::App* command = app.add_subcommand(
        "snapshot", "Write a file that describes the cluster, for tessera-sim; changes nothing");
    command
        ->add_option("file", options.file, "the file; standard output where it is left out, or -")
        ->check(file_name());
    command->add_flag(
        "--anonymous", options.anonymous,
        "numbers in place of the names of nodes, namespaces, pods, gangs and groups, and of "
        "UUIDs");
    command->add_option("--context", options.kube.context, "context of the kubeconfig");
    command->add_option("--kubeconfig", options.kube.path, "kubeconfig file (env KUBECONFIG)");
    return command;
}

int run_snapshot(const SnapshotOptions& options) {
    const auto taken = take(options);
    if (taken) return 0;
    std::cerr << "tessera: " << taken.error().text << "\n";
    return exit_status(taken.error().code);
}

}  // namespace tessera

#include <fmt/chrono.h>

#include <ctime>
#include <iostream>
#include <utility>

#include "adapters/kube/kube_dump.hpp"
#include "adapters/os/text_file.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "wire/tessera/cluster_dump_json.hpp"

namespace tessera {
namespace {

struct SnapshotOptions {
    KubeConfigOptions kube;
    std::string file;  // empty: standard output
    bool anonymous = false;
};

// Nothing is read if the file could not be written.
Result<> take(const SnapshotOptions& options) {
    const bool has_file = !options.file.empty() && options.file != "-";
    if (has_file) {
        const auto can = check_writable(options.file);
        if (!can) return fail(can.error().in("file"));
    }
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(ClusterDump dump, read_cluster_dump(api));
    dump.taken = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    if (options.anonymous) dump = anonymous(std::move(dump));
    const std::string left_out = left_out_text(dump.left_out);
    if (!left_out.empty()) std::cerr << "tessera: " << left_out << "\n";
    const std::string text = write_dump(dump);
    if (has_file) return write_text_file(options.file, text);
    std::cout << text;
    return {};
}

void add_options(CLI::App& command, SnapshotOptions& options) {
    command.add_option("file", options.file, "the file to write; standard output if omitted or -")
        ->check(file_name());
    command.add_flag(
        "--anonymous", options.anonymous,
        "replace UUIDs and the names of nodes, namespaces, pods, gangs and groups by numbers");
    add_connection(command, options.kube);
}

Result<int> run(const SnapshotOptions& options) {
    TRY_VOID(take(options));
    return 0;
}

}  // namespace

CommandRow snapshot_command() {
    return {"snapshot", "Write a file that describes the cluster, for tessera-sim; changes nothing",
            "tessera snapshot cluster.json --anonymous",
            options_and_run<SnapshotOptions>(add_options, run)};
}

}  // namespace tessera

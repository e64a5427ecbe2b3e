#include <fmt/format.h>

#include <iostream>
#include <string>
#include <vector>

#include "adapters/kube/agent_reader.hpp"
#include "app/cli/mps_text.hpp"
#include "domain/mps/gpu_name.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/mps/mps_commands.hpp"

namespace tessera {
namespace {

struct LogsOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::string gpu;
    std::string node;
    int lines = 100;
};

void add_options(CLI::App& command, LogsOptions& options) {
    command
        .add_option("gpu", options.gpu,
                    "the UUID of the GPU, or its beginning, as in tessera mps status")
        ->required();
    command.add_option("--node", options.node,
                       "its node; needed if the GPU is not in MPS mode any more");
    command.add_option("--lines", options.lines, "how many of the last lines of each log")
        ->transform(whole_number(1, 100'000))
        ->capture_default_str();
    options.install.add_to(command);
    add_connection(command, options.kube);
}

struct FoundGpu {
    NodeName node;
    GpuUuid gpu;
};

Result<FoundGpu> find_gpu_of(HttpClient& api, const LogsOptions& options) {
    TRY(const MpsAnswers answers, query_mps(api, options.install.ns, NodeName(options.node)));
    std::vector<FoundGpu> found;
    for (const MpsReport& node : answers.nodes) {
        for (const MpsGpuReport& gpu : node.gpus) {
            if (gpu.state.gpu.str().starts_with(options.gpu))
                found.push_back({node.node, gpu.state.gpu});
        }
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
        return fail(Code::invalid_argument,
                    fmt::format("{} is the beginning of {} GPUs in MPS mode; write more of it",
                                options.gpu, found.size()));
    }
    if (!options.node.empty()) return FoundGpu{NodeName(options.node), GpuUuid(options.gpu)};
    return fail(Code::not_found,
                fmt::format("no GPU {} is in MPS mode; name its node with --node to see older "
                            "logs, with its complete UUID",
                            options.gpu));
}

Result<int> run(const LogsOptions& options) {
    TRY_VOID(options.install.check());
    if (!is_gpu_name(options.gpu)) {
        return fail(Code::invalid_argument,
                    fmt::format("gpu: \"{}\" is not the UUID of a GPU (GPU-8f6c…); tessera mps "
                                "status lists them",
                                options.gpu));
    }
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(const FoundGpu found, find_gpu_of(api, options));
    TRY(const MpsLogs logs, query_mps_logs(api, options.install.ns, found.node, found.gpu));
    if (logs.logs.empty()) {
        return fail(Code::not_found, fmt::format("node {} has no logs of MPS for the GPU {}",
                                                 found.node.str(), found.gpu.str()));
    }
    std::cout << mps_logs_text(logs, static_cast<std::size_t>(options.lines));
    return 0;
}

}  // namespace

CommandRow mps_logs_command() {
    return {.name = "logs",
            .summary = "Show the logs of NVIDIA's control daemon and servers of a GPU",
            .example = "tessera mps logs GPU-40a36dc3",
            .options = options_and_run<LogsOptions>(add_options, run),
            .commands = {}};
}

}  // namespace tessera

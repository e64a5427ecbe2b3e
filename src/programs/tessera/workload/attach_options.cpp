#include "programs/tessera/workload/attach_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "adapters/os/terminal.hpp"
#include "adapters/workload/kube_exec.hpp"
#include "base/dns_name.hpp"
#include "programs/common/command_line.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {

void AttachOptions::add_to(CLI::App& command) {
    command.add_option("-i,--instance", instance, "the pod, if there are several");
    command.add_option("-c,--container", container, "its container, if there are several");
    add_words(command, words, "the command and its arguments, behind --; a shell without it");
}

Result<int> attach(HttpClient& api, const std::string& ns, const workload::WorkloadPod& pod,
                   std::string_view container, const AttachOptions& options) {
    if (pod.phase != "Running") {
        return fail(Code::conflict,
                    fmt::format("the pod {} is {}: a command needs a pod that runs{}", pod.name,
                                pod.status, pod.why.empty() ? "" : "; " + pod.why));
    }
    ExecRequest request{.pod = {ns, pod.name},
                        .container = options.container,
                        .command = options.words,
                        .has_terminal = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO)};
    if (request.container.empty()) request.container = container;
    if (!is_dns_label(request.container)) {
        return fail(
            Code::invalid_argument,
            fmt::format("--container: \"{}\" is not the name of a container", request.container));
    }
    if (request.command.empty()) request.command = {"sh"};
    if (request.has_terminal) {
        warn(fmt::format("attached to container {} of pod {}; leave with exit", request.container,
                         pod.name));
    }
    return run_in_container(api, request);
}

}  // namespace tessera

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/kube_exec.hpp"
#include "app/cli/mps_text.hpp"
#include "app/cli/mps_verify_text.hpp"
#include "domain/mps/client_environment.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/mps/mps_commands.hpp"
#include "programs/tessera/pod_argument.hpp"
#include "programs/tessera/workload/view_output.hpp"
#include "wire/mps/mps_probe_json.hpp"

namespace tessera {
namespace {

struct VerifyOptions {
    KubeConfigOptions kube;
    InstallNamespace install;
    std::string pod;
    std::string ns;
    std::string container;
    std::string output;
    bool fills = false;
    bool sweeps = false;
};

void add_verify_options(CLI::App& command, VerifyOptions& options) {
    command
        .add_option("pod", options.pod, "a running pod with MPS (tessera mps status lists them)")
        ->required();
    command.add_option("-n,--namespace", options.ns, "namespace of the pod");
    command.add_option("-c,--container", options.container,
                       "its container; optional if only one has MPS");
    auto* fill = command.add_flag("--fill", options.fills,
                                  "also take all memory of the share for a moment: other programs "
                                  "of the container may be refused memory meanwhile");
    command
        .add_flag("--sweep", options.sweeps,
                  "instead, measure the throughput of a kernel at ten percentages up to the "
                  "container's")
        ->excludes(fill);
    options.install.add_to(command);
    add_output(command, options.output, {"json", "yaml"});
    add_connection(command, options.kube);
}

// Runs the probe in the container.
Result<MpsProbe> probe(HttpClient& api, const MpsContainer& of, std::vector<std::string> options) {
    constexpr std::chrono::seconds kTimeout{60};
    constexpr std::size_t kMostShown = 400;
    ExecRequest request{.pod = of.grant.name,
                        .container = of.grant.container,
                        .command = {std::string(kMpsProbeInContainer)}};
    std::ranges::move(options, std::back_inserter(request.command));
    TRY(const ExecOutput said, output_in_container(api, request, kTimeout));
    auto found = read_mps_probe(said.output);
    if (found) return found;
    if (found.error().code == Code::conflict) {
        return fail(Code::conflict,
                    for_terminal(found.error().text, kMostShown) +
                        " (800: the pod's events say why; 805 and 806: tessera mps status; 2, out "
                        "of memory: other programs of the container have its share)");
    }
    return fail(Code::unavailable,
                fmt::format("{} does not run in the container (status {}){}{}. It needs a libc of "
                            "GNU, and the driver's libcuda.so.1",
                            kMpsProbeInContainer, said.status, said.errors.empty() ? "" : ": ",
                            for_terminal(said.errors, kMostShown)));
}

void print(const std::string& output, const std::string& json, const std::string& table) {
    if (is_object(output)) return print_json(json, output);
    std::cout << table;
}

Result<int> sweep(HttpClient& api, const MpsContainer& of, const std::string& output) {
    std::vector<MpsSweepStep> steps;
    for (const Percent threads : sweep_of(of.grant)) {
        TRY(const MpsProbe found, probe(api, of, {"--threads", std::to_string(threads.value)}));
        steps.push_back({threads, found});
    }
    print(output, mps_sweep_json(of, steps), mps_sweep_table(steps));
    return 0;
}

struct PlacedPod {
    RunningPod pod;
    NodeName node;
};

Result<PlacedPod> read_pod_of(HttpClient& api, const PodName& name) {
    constexpr std::chrono::seconds kTimeout{10};
    const std::string path = fmt::format("/api/v1/namespaces/{}/pods/{}", name.ns, name.name);
    TRY(const std::string body, kube_call(api, {.method = "GET", .path = path}, kTimeout));
    TRY(const auto document, JsonDocument::parse(body));
    const JsonValue json = document.root();
    PlacedPod out{
        .pod = {.name = name, .uid = PodUid(json["metadata"]["uid"].text_or("")), .containers = {}},
        .node = NodeName(json["spec"]["nodeName"].text_or(""))};
    for (const JsonValue status : json["status"]["containerStatuses"].elements()) {
        if (status["state"]["running"].present())
            out.pod.containers.emplace_back(status["name"].text_or(""));
    }
    if (!out.node.empty() && !out.pod.containers.empty()) return out;
    return fail(Code::conflict, fmt::format("pod {} does not run; tessera explain {} -n {} says "
                                            "why, if it waits",
                                            name.str(), name.name, name.ns));
}

// Exits with 1 if the container does not get what it was granted.
Result<int> verify(const VerifyOptions& options) {
    TRY_VOID(options.install.check());
    TRY_VOID(check_pod_argument("pod", options.pod, options.ns));
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const PodName pod,
        pod_argument("pod", options.pod, options.ns.empty() ? connection.ns : options.ns));
    HttpClient api(connection.endpoint);
    TRY(const PlacedPod placed, read_pod_of(api, pod));
    TRY(const MpsAnswers answers, query_mps(api, options.install.ns, placed.node));
    if (answers.nodes.empty())
        return fail(Code::unavailable, "the agent of the pod's node did not answer, as said above");
    const auto of = find_mps_container(answers.nodes.front(), placed.pod, options.container);
    if (!of) return fail(of.error());
    if (options.sweeps) return sweep(api, *of, options.output);
    TRY(const MpsProbe found,
        probe(api, *of,
              options.fills ? std::vector<std::string>{"--fill"} : std::vector<std::string>()));
    const auto findings = verify_mps(of->grant, of->multiprocessors, found);
    print(options.output, mps_verify_json(*of, findings), mps_verify_table(*of, findings));
    return is_well(findings) ? 0 : 1;
}

}  // namespace

CommandRow mps_verify_command() {
    return {.name = "verify",
            .summary = "Check in a running container that MPS gives it what it was granted",
            .example = "tessera mps verify serve-0",
            .options = options_and_run<VerifyOptions>(add_verify_options, verify),
            .commands = {}};
}

}  // namespace tessera

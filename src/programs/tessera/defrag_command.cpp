#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "adapters/kube/kube_cluster.hpp"
#include "adapters/kube/kube_defrag.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/assumed_policy.hpp"
#include "app/cli/defrag_text.hpp"
#include "app/explain/predicted_policies.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "programs/common/cluster_policy.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/pod_argument.hpp"

namespace tessera {
namespace {

struct DefragOptions {
    KubeConfigOptions kube;
    std::string pod;  // empty: free whole GPUs
    std::string ns;
    std::string output;  // empty or "json"
    PolicyOptions policy;
    int gpus = 1;
    int timeout_s = 120;
    bool apply = false;
    bool plan = false;
    bool yes = false;
};

// No pod is evicted by an assumed policy: another policy may put the new pods elsewhere.
Result<std::string> policy_of(const DefragOptions& options, HttpClient& api) {
    TRY(ClusterPolicy policy,
        cluster_policy(read_controller(api, options.policy.ns), options.policy));
    if (!policy.is_assumed) return std::move(policy.name);
    const std::string assumed = assumed_policy_text(policy.name);
    if (options.apply) {
        return fail(Code::invalid_argument,
                    fmt::format("--apply: {}: {}", assumed, policies_help()));
    }
    std::cerr << fmt::format("tessera: {}\n", assumed);
    return std::move(policy.name);
}

Result<DefragRequest> request_of_options(const DefragOptions& options,
                                         const KubeConnection& connection) {
    DefragRequest request{.pod = std::nullopt, .gpus = options.gpus};
    if (options.pod.empty()) return request;
    TRY(request.pod,
        pod_argument("--for", options.pod, options.ns.empty() ? connection.ns : options.ns));
    return request;
}

bool is_confirmed(std::size_t moves) {
    std::cout << (moves == 1
                      ? std::string("Evict this pod? [y/N] ")
                      : fmt::format("Evict these {} pods, one after the other? [y/N] ", moves))
              << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

// Shows the plan, and carries it out if --apply is given and, on a terminal, confirmed. The status
// is that of a conflict if there is no plan.
Result<int> run(const DefragOptions& options) {
    if (options.apply && !options.yes && ::isatty(STDIN_FILENO) == 0) {
        return fail(Code::invalid_argument,
                    "--apply: evicting pods needs confirmation, and standard input is not a "
                    "terminal; add --yes");
    }
    TRY_VOID(check_policy(options.policy.policy));
    if (!options.pod.empty()) TRY_VOID(check_pod_argument("--for", options.pod, options.ns));
    TRY(const KubeConnection connection, connect_info(options.kube));
    HttpClient api(connection.endpoint);
    TRY(const DefragRequest request, request_of_options(options, connection));
    TRY(const std::string policy, policy_of(options, api));
    const Predicted predicted = [&](const defrag::ClusterObjects& objects) {
        return predicted_scorers(objects, policy);
    };
    KubeDefrag cluster(api);
    TRY(const DefragAnswer answer, plan_defrag(cluster, request, predicted));
    std::cout << (options.output == "json" ? defrag_json(request, answer) + "\n"
                                           : defrag_text(request, answer))
              << std::flush;
    const auto* plan = std::get_if<defrag::Plan>(&answer.found);
    if (plan == nullptr) return exit_status(Code::conflict);
    if (!options.apply || plan->moves.empty()) return 0;
    if (!options.yes && !is_confirmed(plan->moves.size())) {
        std::cout << "Nothing was evicted.\n";
        return 0;
    }
    SystemClock clock;
    TRY_VOID(apply_defrag(
        cluster, clock,
        {.request = request,
         .plan = *plan,
         .gpus_wanted = answer.gpus_wanted,
         .timeout = std::chrono::seconds(options.timeout_s),
         .say = [](const std::string& line) { std::cout << line << "\n"
                                                        << std::flush; }},
        predicted));
    return 0;
}

void add_options(CLI::App& command, DefragOptions& options) {
    CLI::Option* plan =
        command.add_flag("--plan", options.plan, "only show the moves (the default)");
    CLI::Option* apply = command.add_flag("--apply", options.apply,
                                          "evict these pods one after the other, and plan again "
                                          "after each");
    apply->excludes(plan);
    CLI::Option* pod = command.add_option("--for", options.pod, "make room for this pending pod");
    command.add_option("-n,--namespace", options.ns, "namespace of the pod")->needs(pod);
    command
        .add_option("--gpus", options.gpus,
                    "number of whole GPUs to free, in addition to those that are free now")
        ->transform(whole_number(1, 1'000'000))
        ->excludes(pod)
        ->capture_default_str();
    add_policy_options(command, options.policy);
    command.add_flag("-y,--yes", options.yes, "evict pods without confirmation")->needs(apply);
    command
        .add_option("--timeout", options.timeout_s,
                    "seconds to wait for a pod to be gone, and for its new pod to be on a node")
        ->transform(whole_number(1, 86'400))
        ->capture_default_str();
    add_output(command, options.output, {"json"})->excludes(apply);
    add_connection(command, options.kube);
}

}  // namespace

CommandRow defrag_command() {
    return {"defrag",
            "Move as few movable pods as possible, to free whole GPUs or make room for a pod",
            "tessera defrag --for my-pod", options_and_run<DefragOptions>(add_options, run)};
}

}  // namespace tessera

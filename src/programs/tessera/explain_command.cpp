#include <fmt/format.h>

#include <iostream>

#include "adapters/kube/kube_cluster.hpp"
#include "app/cli/explain_text.hpp"
#include "app/explain/explain.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "programs/common/cluster_policy.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/pod_argument.hpp"

namespace tessera {
namespace {

struct ExplainOptions {
    KubeConfigOptions kube;
    std::string pod;
    std::string ns;
    PolicyOptions policy;
    std::string output;  // empty or "json"
    bool all = false;
};

constexpr std::size_t kShown = 10;  // feasible nodes, unless --all is given

Result<std::string> explain(const ExplainOptions& options) {
    TRY_VOID(check_policy(options.policy.policy));
    TRY_VOID(check_pod_argument("pod", options.pod, options.ns));
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const PodName pod,
        pod_argument("pod", options.pod, options.ns.empty() ? connection.ns : options.ns));
    HttpClient http(connection.endpoint);
    const auto controller = read_controller(http, options.policy.ns);
    TRY(const ClusterPolicy policy, cluster_policy(controller, options.policy));
    TRY(const defrag::ClusterObjects objects, read_cluster(http));
    TRY(PodExplanation explanation, explain_pod(objects, pod, policy.name));
    explanation.scheduler =
        explain_scheduler(objects, pod, controller ? controller->scheduler : "");
    if (!options.policy.policy.empty() &&
        explanation.policy_source == PodExplanation::Source::assumed)
        explanation.policy_source = PodExplanation::Source::option;
    if (!policy.is_assumed && explanation.policy_source == PodExplanation::Source::assumed)
        explanation.policy_source = PodExplanation::Source::controller;
    return options.output == "json" ? explain_json(explanation) + "\n"
                                    : explain_text(explanation, options.all ? 0 : kShown);
}

void add_options(CLI::App& command, ExplainOptions& options) {
    command.add_option("pod", options.pod, "the pod")->required();
    command.add_option("-n,--namespace", options.ns, "namespace of the pod");
    add_policy_options(command, options.policy);
    command.add_flag("--all", options.all, "every feasible node, not only the best ten");
    add_output(command, options.output, {"json"});
    add_connection(command, options.kube);
}

Result<int> run(const ExplainOptions& options) {
    TRY(const std::string text, explain(options));
    std::cout << text;
    return 0;
}

}  // namespace

CommandRow explain_command() {
    return {"explain",
            "Show why a pod is on its node or pending: every node with its score, or why it does "
            "not fit",
            "tessera explain my-pod", options_and_run<ExplainOptions>(add_options, run)};
}

}  // namespace tessera

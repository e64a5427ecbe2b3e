#include "programs/explain_command.hpp"

#include <fmt/format.h>

#include <iostream>

#include "adapters/kube/kube_cluster.hpp"
#include "app/cli/explain_text.hpp"
#include "app/scheduler/explain.hpp"
#include "app/scheduler/placements.hpp"
#include "programs/cluster_policy.hpp"
#include "programs/pod_argument.hpp"

namespace tessera {
namespace {

constexpr std::size_t kShown = 10;  // nodes that fit

Result<std::string> explain(const ExplainOptions& options) {
    TRY_VOID(check_policy(options.policy.policy));
    TRY_VOID(check_pod_argument("pod", options.pod, options.space));
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const PodName pod,
        pod_argument("pod", options.pod, options.space.empty() ? connection.space : options.space));
    HttpClient http(connection.endpoint);
    TRY(const ClusterPolicy policy, cluster_policy(http, options.policy));
    TRY(const defrag::Snapshot snapshot, read_cluster(http));
    TRY(PodStory story, explain_pod(snapshot, pod, policy.name));
    if (!policy.is_assumed && story.policy_source == PodStory::Source::assumed)
        story.policy_source = PodStory::Source::controller;
    return options.output == "json" ? explain_json(story) + "\n"
                                    : explain_text(story, options.all ? 0 : kShown);
}

}  // namespace

CLI::App* add_explain(CLI::App& app, ExplainOptions& options) {
    CLI::App* command = app.add_subcommand(
        "explain",
        "Show why a pod is where it is, or waits: every node, its score or what it lacks");
    command->add_option("pod", options.pod, "the pod")->required();
    command->add_option("-n,--namespace", options.space, "its namespace");
    add_policy_options(*command, options.policy);
    command->add_flag("--all", options.all, "every node where it fits, not the best ten alone");
    command->add_option("-o,--output", options.output, "json")->check(CLI::IsMember({"json"}));
    command->add_option("--context", options.kube.context, "context of the kubeconfig");
    command->add_option("--kubeconfig", options.kube.path, "kubeconfig file (env KUBECONFIG)");
    return command;
}

int run_explain(const ExplainOptions& options) {
    const auto said = explain(options);
    if (said) {
        std::cout << *said;
        return 0;
    }
    std::cerr << "tessera: " << said.error().text << "\n";
    return exit_status(said.error().code);
}

}  // namespace tessera

#include "programs/defrag_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "adapters/kube/kube_defrag.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/assumed_policy.hpp"
#include "app/cli/defrag_text.hpp"
#include "app/scheduler/foreseen.hpp"
#include "app/scheduler/placements.hpp"
#include "programs/cluster_policy.hpp"
#include "programs/common/validators.hpp"
#include "programs/pod_argument.hpp"

namespace tessera {
namespace {

// Nobody is evicted by a guess: where the new pods go is another policy's to say.
Result<std::string> policy_of(const DefragOptions& options, const KubeConnection& connection) {
    HttpClient http(connection.endpoint);
    TRY(ClusterPolicy policy, cluster_policy(http, options.policy));
    if (!policy.is_assumed) return std::move(policy.name);
    const std::string assumed = assumed_policy_text(policy.name);
    if (options.apply) {
        return fail(Code::invalid_argument,
                    fmt::format("--apply: {}: {}", assumed, policies_help()));
    }
    std::cerr << fmt::format("tessera: {}\n", assumed);
    return std::move(policy.name);
}

Result<DefragAsk> ask_of_options(const DefragOptions& options, const KubeConnection& connection) {
    DefragAsk ask{.pod = std::nullopt, .cards = options.cards};
    if (options.pod.empty()) return ask;
    TRY(ask.pod, pod_argument("--for", options.pod,
                              options.space.empty() ? connection.space : options.space));
    return ask;
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

Result<int> defrag_with(const DefragOptions& options) {
    if (options.apply && !options.yes && ::isatty(STDIN_FILENO) == 0) {
        return fail(Code::invalid_argument,
                    "--apply: nobody is there to be asked whether pods may be evicted; add --yes");
    }
    TRY_VOID(check_policy(options.policy.policy));
    if (!options.pod.empty()) TRY_VOID(check_pod_argument("--for", options.pod, options.space));
    TRY(const KubeConnection connection, connect_info(options.kube));
    TRY(const DefragAsk ask, ask_of_options(options, connection));
    TRY(const std::string policy, policy_of(options, connection));
    const Foreseen foreseen = [&](const defrag::Snapshot& snapshot) {
        return foreseen_raters(snapshot, policy);
    };
    KubeDefrag cluster(connection.endpoint);
    TRY(const DefragAnswer answer, plan_defrag(cluster, ask, foreseen));
    std::cout << (options.output == "json" ? defrag_json(ask, answer) + "\n"
                                           : defrag_text(ask, answer))
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
        {.ask = ask,
         .plan = *plan,
         .cards_wanted = answer.cards_wanted,
         .timeout = std::chrono::seconds(options.timeout_s),
         .say = [](const std::string& line) { std::cout << line << "\n"
                                                        << std::flush; }},
        foreseen));
    return 0;
}

}  // namespace

CLI::App* add_defrag(CLI::App& app, DefragOptions& options) {
    CLI::App* command = app.add_subcommand(
        "defrag", "Move pods that may be moved, as few as do, to free whole cards or make room");
    CLI::Option* plan =
        command->add_flag("--plan", options.plan, "only show the moves, which is the default");
    CLI::Option* apply = command->add_flag("--apply", options.apply,
                                           "evict these pods, one after the other, and look anew "
                                           "after each");
    apply->excludes(plan);
    CLI::Option* pod =
        command->add_option("--for", options.pod, "make room for this pod, which waits");
    command->add_option("-n,--namespace", options.space, "its namespace")->needs(pod);
    command->add_option("--cards", options.cards, "free so many whole cards more than are now")
        ->transform(whole_number(1, 1'000'000))
        ->excludes(pod)
        ->capture_default_str();
    add_policy_options(*command, options.policy);
    command->add_flag("-y,--yes", options.yes, "do not ask before pods are evicted")->needs(apply);
    command
        ->add_option("--timeout", options.timeout_s,
                     "seconds for a pod to be gone and for its new pod to be on a node")
        ->transform(whole_number(1, 86'400))
        ->capture_default_str();
    command->add_option("-o,--output", options.output, "json")
        ->check(CLI::IsMember({"json"}))
        ->excludes(apply);
    command->add_option("--context", options.kube.context, "context of the kubeconfig");
    command->add_option("--kubeconfig", options.kube.path, "kubeconfig file (env KUBECONFIG)");
    return command;
}

int run_defrag(const DefragOptions& options) {
    const auto status = defrag_with(options);
    if (status) return *status;
    std::cerr << "tessera: " << status.error().text << "\n";
    return exit_status(status.error().code);
}

}  // namespace tessera

#include "programs/resize_command.hpp"

#include <fmt/format.h>

#include <iostream>
#include <random>

#include "adapters/kube/kube_pod_resizes.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/resize.hpp"
#include "programs/common/validators.hpp"
#include "programs/pod_argument.hpp"

namespace tessera {
namespace {

// 64 random bits: no other wish has them.
std::string fresh_id() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

Error advise(Error error, const std::string& space) {
    if (error.code == Code::permission_denied) {
        error.text += fmt::format(
            "; you need the rights to get and patch pods (kubectl auth can-i "
            "patch pods -n {})",
            space);
    }
    return error;
}

Result<std::string> resize(const ResizeOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    const std::string space = options.space.empty() ? connection.space : options.space;
    TRY(PodName pod, pod_argument("pod", options.pod, space));
    ResizeAsk ask{.pod = std::move(pod),
                  .container = options.container,
                  .timeout = std::chrono::seconds(options.timeout_s),
                  .id = fresh_id()};
    if (!options.memory.empty()) {
        const auto bytes = parse_whole_quantity(options.memory);
        if (!bytes) return fail(bytes.error().in("--memory"));
        ask.memory = Bytes{*bytes};
    }
    if (options.cores >= 0) ask.cores = Percent{options.cores};
    if (options.ceiling >= 0) ask.ceiling = Percent{options.ceiling};
    KubePodResizes pods(connection.endpoint, nullptr);
    SystemClock clock;
    auto answer = ask_to_resize(pods, clock, ask);
    return answer ? answer : fail(advise(answer.error(), space));
}

}  // namespace

CLI::App* add_resize(CLI::App& app, ResizeOptions& options) {
    CLI::App* command = app.add_subcommand(
        "resize", "Change what a running pod holds of its cards, and wait for the answer");
    command->add_option("pod", options.pod, "the pod")->required();
    command->add_option("-n,--namespace", options.space, "its namespace");
    command->add_option("-c,--container", options.container,
                        "its container; need not be given where one alone has a share");
    command->add_option("--memory", options.memory, "of each of its cards, such as 6Gi");
    command
        ->add_option("--cores", options.cores,
                     "percent of each card that it is sure of; 0: of none")
        ->transform(whole_number(0, 100));
    command->add_option("--ceiling", options.ceiling, "percent of each card that it gets at most")
        ->transform(whole_number(1, 100));
    command->add_option("--timeout", options.timeout_s, "seconds to wait for the answer")
        ->transform(whole_number(1, 3600))
        ->capture_default_str();
    command->add_option("--context", options.kube.context, "context of the kubeconfig");
    command->add_option("--kubeconfig", options.kube.path, "kubeconfig file (env KUBECONFIG)");
    return command;
}

int run_resize(const ResizeOptions& options) {
    const auto said = resize(options);
    if (said) {
        std::cout << *said << "\n";
        return 0;
    }
    std::cerr << "tessera: " << said.error().text << "\n";
    return exit_status(said.error().code);
}

}  // namespace tessera

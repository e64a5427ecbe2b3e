#include <fmt/format.h>

#include <iostream>
#include <random>

#include "adapters/kube/kube_pod_resizes.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/cli/resize.hpp"
#include "programs/common/validators.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/pod_argument.hpp"

namespace tessera {
namespace {

struct ResizeOptions {
    KubeConfigOptions kube;
    std::string pod;
    std::string ns;
    std::string container;
    std::string memory;
    int cores = -1;        // -1: not given
    int cores_limit = -1;  // -1: not given
    int timeout_s = 30;
};

// 64 random bits: unique among requests.
std::string fresh_id() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

Error advise(Error error, const std::string& ns) {
    if (error.code == Code::permission_denied) {
        error.text += fmt::format(
            "; you need the rights to get and patch pods (kubectl auth can-i "
            "patch pods -n {})",
            ns);
    }
    return error;
}

Result<std::string> resize(const ResizeOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.kube));
    const std::string ns = options.ns.empty() ? connection.ns : options.ns;
    TRY(PodName pod, pod_argument("pod", options.pod, ns));
    ResizeRequest request{.pod = std::move(pod),
                          .container = options.container,
                          .timeout = std::chrono::seconds(options.timeout_s),
                          .id = fresh_id()};
    if (!options.memory.empty()) {
        const auto bytes = parse_whole_quantity(options.memory);
        if (!bytes) return fail(bytes.error().in("--memory"));
        request.memory = Bytes{*bytes};
    }
    if (options.cores >= 0) request.cores = Percent{options.cores};
    if (options.cores_limit >= 0) request.cores_limit = Percent{options.cores_limit};
    HttpClient api(connection.endpoint);
    KubePodResizes pods(api, nullptr);
    SystemClock clock;
    auto answer = request_resize(pods, clock, request);
    return answer ? answer : fail(advise(answer.error(), ns));
}

void add_options(CLI::App& command, ResizeOptions& options) {
    command.add_option("pod", options.pod, "the pod")->required();
    command.add_option("-n,--namespace", options.ns, "namespace of the pod");
    command.add_option("-c,--container", options.container,
                       "its container; optional if only one has a GPU share");
    command.add_option("--memory", options.memory, "memory of each of its GPUs, such as 6Gi");
    command
        .add_option("--cores", options.cores,
                    "guaranteed percentage of each GPU's compute; 0: no guarantee")
        ->transform(whole_number(0, 100));
    command
        .add_option("--compute-limit", options.cores_limit,
                    "maximum percentage of each GPU's compute")
        ->transform(whole_number(1, 100));
    command.add_option("--timeout", options.timeout_s, "seconds to wait for the answer")
        ->transform(whole_number(1, 3600))
        ->capture_default_str();
    add_connection(command, options.kube);
}

Result<int> run(const ResizeOptions& options) {
    TRY(const std::string answer, resize(options));
    std::cout << answer << "\n";
    return 0;
}

}  // namespace

CommandRow resize_command() {
    return {"resize", "Change the GPU share of a running pod, and wait for the answer",
            "tessera resize my-pod --memory 6Gi --cores 50",
            options_and_run<ResizeOptions>(add_options, run)};
}

}  // namespace tessera

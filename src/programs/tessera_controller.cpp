// tessera-controller: the scheduler extender.
#include <array>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_client.hpp"
#include "adapters/kube/kubeconfig.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/scheduler/feed.hpp"
#include "app/scheduler/routes.hpp"
#include "base/log.hpp"
#include "programs/common/run_program.hpp"

namespace tessera {
namespace {

#define CONFIG_TABLE "programs/controller.def"
#include "programs/common/typed_config.inc"

Result<> check(const ConfigValues& values) {
    TRY_VOID(find_policy(typed(values).policy));
    return {};
}

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    TRY(const Policy* policy, find_policy(config.policy));
    TRY(const KubeConnection connection, connect_info({.path = config.kubeconfig}));
    KubeClient kube(connection.endpoint);
    Keeper keeper;
    SystemClock clock;
    Scheduler scheduler(kube, keeper, *policy, clock);
    SchedulerMetrics metrics;
    const Feed feed(kube, keeper, scheduler, metrics);
    SchedulerRoutes routes(scheduler, keeper, metrics, feed.synced());
    HttpServer server(
        {
            .address = config.listen,
            .port = static_cast<int>(config.port),
            .threads = static_cast<int>(config.http_threads),
            .max_body_bytes = static_cast<std::size_t>(config.max_body_mib) << 20,
        },
        [&routes](HttpRequest& request) {
            RouteAnswer answer = routes.answer({request.method, request.path, request.body});
            return HttpResponse{answer.status, std::move(answer.body),
                                std::move(answer.content_type), std::move(answer.location),
                                std::move(answer.allow)};
        });
    TRY(const int port, server.listen());
    log_event(Event::started, {{"version", TESSERA_VERSION},
                               {"address", config.listen},
                               {"port", port},
                               {"policy", config.policy}});
    server.serve(stop);
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    return tessera::run_program(
        {"tessera-controller", "Places pods on shared GPUs: the extender of kube-scheduler.",
         tessera::kRows},
        argc, argv, tessera::check, tessera::serve);
}

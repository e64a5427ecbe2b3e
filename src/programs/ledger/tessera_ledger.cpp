// tessera-ledger: keeps what containers had of GPUs, and answers how much that was.
#include <chrono>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_access_review.hpp"
#include "adapters/kubeconfig/kubeconfig.hpp"
#include "adapters/os/process_facts.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/common/periodic.hpp"
#include "app/ledger/ledger_routes.hpp"
#include "base/log.hpp"
#include "programs/ledger/ledger_config.hpp"
#include "programs/ledger/open_store.hpp"

namespace tessera {
namespace {

// Agents send tokens that no other program accepts.
constexpr const char* kTokenAudience = "tessera-ledger";
// Thousands of agents send once a minute. Each has a new token every hour.
constexpr TokenMemory kTokens{.granted_for = std::chrono::minutes(5), .most = 16'384};

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    TRY(const KubeConnection connection, connect_info({.path = config.kubeconfig}));
    TRY(const auto service_options, service_port_of(config));
    HttpClient api(connection.endpoint);
    SystemClock clock;
    LedgerMetrics metrics([] { return read_process_facts("tessera-ledger"); });
    StoreFaults faults(metrics);
    TRY(const auto store, open_store(config, faults, clock, stop));
    if (!store) return {};
    LedgerUpkeep upkeep({*store, faults, metrics, clock}, config.retention_days);
    KubeAccessReview review(api, kTokenAudience);
    TokenReviews tokens(review, clock, kTokens);
    LedgerRoutes routes({*store, faults, metrics, upkeep, tokens, clock});
    const HttpServer::Handler answer = [&](HttpRequest& request) {
        return to_http(routes.answer({request.method, request.path, request.query, request.body}));
    };
    ServicePort service(api, clock, service_options, answer,
                        gate_of([&](const RequestHead& head) { return routes.refuse(head); }));
    const HttpServer::Handler health_answer = [&](HttpRequest& request) {
        const bool is_early = request.path == "/readyz" && !service.is_ready();
        return is_early ? service.not_ready() : answer(request);
    };
    TRY(const std::jthread health, serve_health(health_port_of(config), health_answer, stop));
    Periodic checks(clock, LedgerUpkeep::kCheckPeriod,
                    [&](const std::stop_token&) { upkeep.check(); });
    Periodic rounds(clock, LedgerUpkeep::kRoundPeriod,
                    [&](const std::stop_token& stopping) { upkeep.run_round(stopping); });
    log_event(Event::started,
              {{"version", TESSERA_VERSION}, {"address", config.listen}, {"port", config.port}});
    checks.start();
    service.begin();
    rounds.start();
    while (!stop.stop_requested())
        clock.sleep_for(std::chrono::hours(1), stop);
    service.end();
    rounds.stop();
    checks.stop();
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    return tessera::run_program({"tessera-ledger",
                                 "Keeps the GPU time that the agents measure, and answers how much "
                                 "each namespace used.",
                                 tessera::kRows},
                                argc, argv, tessera::check_config, tessera::serve);
}

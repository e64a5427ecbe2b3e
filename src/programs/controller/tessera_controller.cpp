// tessera-controller: the scheduler extender.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "adapters/http/certificate.hpp"
#include "adapters/http/http.hpp"
#include "adapters/kube/kube_access_review.hpp"
#include "adapters/kube/kube_client.hpp"
#include "adapters/kubeconfig/kubeconfig.hpp"
#include "adapters/os/process_facts.hpp"
#include "adapters/os/system_clock.hpp"
#include "adapters/os/text_file.hpp"
#include "app/scheduler/http/routes.hpp"
#include "app/scheduler/informers/informers.hpp"
#include "base/log.hpp"
#include "programs/common/run_program.hpp"
#include "programs/common/seal_file.hpp"
#include "programs/controller/budgets.hpp"
#include "programs/controller/controller_config.hpp"
#include "programs/controller/leader_tasks.hpp"

namespace tessera {
namespace {

ProcessFacts own_facts(const std::string& certificate_file) {
    ProcessFacts facts = read_process_facts("tessera-controller");
    const auto pem = read_text_file(certificate_file);
    if (!pem) return facts;
    if (const auto end = certificate_end(*pem)) facts.certificate_ends_s = *end;
    return facts;
}

auto rows_with_policies() {
    static const std::string help = policies_help();
    auto rows = kRows;
    std::ranges::find(rows, "policy", &ConfigRow::name)->help = help;
    return rows;
}

NominationSettings nominations_of(const Config& config) {
    return {.schedulers = config.nominate_for,
            .from_nodes = static_cast<std::size_t>(config.nominate_from),
            .skip = static_cast<std::size_t>(config.nominate_skip)};
}

HttpServerOptions server_options_of(const Config& config) {
    return {.address = config.listen,
            .port = static_cast<int>(config.port),
            .threads = static_cast<int>(config.http_threads),
            .max_body_bytes = static_cast<std::size_t>(config.max_body_mib) << 20,
            .tls = listen_config_of(config).tls};
}

void log_started(const Config& config, int port, std::string_view policy) {
    log_event(Event::started, {{"version", TESSERA_VERSION},
                               {"address", config.listen},
                               {"port", port},
                               {"policy", std::string(policy)}});
}

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    TRY(const KubeConnection connection, connect_info({.path = config.kubeconfig}));
    TRY(const auto seal, load_seal(config.allocation_key_file));
    const AllocationSeal* sealed = seal ? &*seal : nullptr;
    HttpClient api(connection.endpoint);
    TRY(const Dialects dialects, all_dialects().only(config.dialects));
    KubeClient kube(api, sealed, dialects);
    ClusterCache cache;
    SystemClock clock;
    TRY(const auto leadership_options, leadership_of(config));
    Leadership leadership(api, clock, leadership_options);
    TRY(const PlacementPolicyRow* policy, find_policy_option(config.policy));
    PolicySet policies(policy->name);
    Scheduler scheduler(kube, cache, clock,
                        {.policies = &policies,
                         .best_nodes = static_cast<std::size_t>(config.best_nodes),
                         .seal = sealed,
                         .fence = leadership.fence(),
                         .dialects = &dialects});
    SchedulerMetrics metrics(clock,
                             [file = config.tls_certificate_file] { return own_facts(file); });
    Informers informers(kube, cache, scheduler, metrics, clock, &kube);
    const InformerThreads threads(informers);
    const std::jthread learning([&](const std::stop_token& ends) {
        policies.learn(cache, clock, informers.synced(), ends);
    });
    LeaderTasks tasks({api, cache, metrics, clock, sealed, leadership.fence(), &policies,
                       nominations_of(config)});
    TRY(const auto budgets, open_budgets(ledger_of(config), api, clock, leadership.fence()));
    const Admission admission{.rules = admission_of(config),
                              .budgets = budgets ? &budgets->table() : nullptr};
    SchedulerRoutes routes(scheduler, cache, metrics, informers.synced(), leadership.election(),
                           config.preempt ? &tasks.preemption() : nullptr,
                           SchedulerRoutes::kOwnerBound, &admission, &tasks.nominator());
    TRY(const auto options, service_port_of(config));
    CustomMetrics custom_metrics(api, clock, config.custom_metrics, options, leadership.fence());
    const HttpServer::Handler answer = [&](HttpRequest& request) {
        if (request.path == path_of(Route::filter)) leadership.wait_to_lead(stop);
        if (custom_metrics.takes(request.method, request.path))
            return to_http(custom_metrics.answer(request));
        return to_http(routes.answer({request.method, request.path, request.body}));
    };
    KubeAccessReview review(api);
    Access service_access(review, clock, service_access_of(config, custom_metrics));
    ServicePort service(api, clock, options, answer, gate_of(service_access),
                        custom_metrics.client_authorities());
    const HttpServer::Handler health_answer = [&](HttpRequest& request) {
        if (request.path != "/readyz") return answer(request);
        if (budgets && !budgets->has_evaluated()) return Budgets::not_ready();
        return service.is_ready() ? answer(request) : service.not_ready();
    };
    Access access(review, clock, access_of(config));
    HttpServer server(server_options_of(config), answer, gate_of(access));
    TRY(const int port, listen_soon(server, stop));
    TRY(const std::jthread health, serve_health(health_port_of(config), health_answer, stop));
    log_started(config, port, policy->name);
    leadership.begin(informers);
    service.begin();
    custom_metrics.start();
    if (budgets) budgets->start();
    tasks.start({.preempts = config.preempt, .ends_training_roles = config.training_jobs});
    server.serve(stop);
    service.end();
    custom_metrics.stop();
    tasks.stop();
    leadership.end();
    if (budgets) budgets->stop();
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    // Reading a request with whole nodes takes hundreds of MiB. These settings return them to the
    // system afterwards; otherwise each thread that ever read such a request would keep them.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
    const auto rows = tessera::rows_with_policies();
    return tessera::run_program(
        {"tessera-controller", "Places pods on shared GPUs: the extender of kube-scheduler.", rows},
        argc, argv, tessera::check_config, tessera::serve);
}

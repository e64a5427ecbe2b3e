#include "programs/controller/controller_config.hpp"

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/dialect/dialect.hpp"
#include "programs/common/seal_file.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

Result<std::string> url_of(const Config& config) {
    if (config.lease.empty()) return std::string();
    return read_own_url(listen_config_of(config));
}

}  // namespace

ListenConfig listen_config_of(const Config& config) {
    return {.listen = config.listen,
            .port = config.port,
            .health_port = config.health_port,
            .health_listen = config.health_listen,
            .tls = {config.tls_certificate_file, config.tls_key_file, config.client_ca_file},
            .plain_http = config.plain_http,
            .advertise = config.advertise};
}

HealthPort health_port_of(const Config& config) {
    return {.address = config.health_listen.empty() ? config.listen : config.health_listen,
            .port = config.health_port};
}

Result<LeadershipOptions> leadership_of(const Config& config) {
    LeadershipOptions options = {.identity = config.identity};
    TRY(options.lease, read_object_name("lease", config.lease));
    TRY(options.scheduler_lease, read_object_name("scheduler_lease", config.scheduler_lease));
    if (!config.scheduler_lease.empty() && config.lease.empty())
        return fail(Code::invalid_argument, "scheduler_lease: requires lease");
    if (!config.scheduler_lease.empty() && config.identity.empty())
        return fail(Code::invalid_argument, "scheduler_lease: requires identity (POD_NAME)");
    // No other kube-scheduler reaches this replica, so none is redirected to it.
    if (config.scheduler_lease.empty()) {
        TRY(options.url, url_of(config));
    }
    return options;
}

Result<ServicePortOptions> service_port_of(const Config& config) {
    ServicePortOptions options = {
        .row = "service_port",
        .address = config.service_listen.empty() ? config.listen : config.service_listen,
        .port = static_cast<int>(config.service_port),
        .threads = 16,
        // A pod in etcd has 1.5 MiB at most, and a review has one or two.
        .max_body_bytes = std::size_t{4} << 20,
        .component = "controller",
        .authority = "tessera-webhook",
        .secret = config.webhook_secret,
        .configuration = config.webhook_configuration};
    TRY(options.service, read_object_name("service", config.service));
    if (options.port != 0 && options.service.name.empty())
        return fail(Code::invalid_argument, "service: missing; service_port requires it");
    if (options.port == 0 && config.custom_metrics)
        return fail(Code::invalid_argument, "custom_metrics: requires service_port");
    return options;
}

Result<> check_config(const ConfigValues& values) {
    const Config config = typed(values);
    TRY_VOID(find_policy_option(config.policy));
    TRY_VOID(all_dialects().only(config.dialects));
    TRY_VOID(leadership_of(config));
    TRY_VOID(service_port_of(config));
    TRY_VOID(check_listen_config(listen_config_of(config)));
    TRY_VOID(check_ledger_server(ledger_of(config)));
    if (!config.kubeconfig.empty()) TRY_VOID(connect_info({.path = config.kubeconfig}));
    return check_seal(config.allocation_key_file);
}

AdmissionRules admission_of(const Config& config) {
    return {.own_annotations = key::kWrittenByTessera,
            .scheduler = config.webhook_scheduler,
            .runtime_class = config.webhook_runtime_class};
}

LedgerServer ledger_of(const Config& config) {
    return {config.ledger_url, config.ledger_ca_file, config.ledger_token_file};
}

AccessOptions access_of(const Config& config) {
    return {.certificates = !config.client_ca_file.empty(), .open_reads = config.open_reads};
}

AccessOptions service_access_of(const Config& config, const CustomMetrics& custom_metrics) {
    return {.certificates = true,
            .open_reads = config.open_reads,
            .admissions = true,
            .is_front_proxy = custom_metrics.front_proxy_check()};
}

}  // namespace tessera

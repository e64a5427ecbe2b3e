#include "programs/ledger/ledger_config.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "adapters/os/text_file.hpp"
#include "app/ledger/ledger_routes.hpp"
#include "app/ledger/ledger_upkeep.hpp"
#include "base/ascii.hpp"

namespace tessera {
namespace {

// Each agent sends once a minute. It connects again each time, because a connection of TLS takes
// tens of kilobytes.
constexpr std::size_t kMostConnections = 4'096;
constexpr std::chrono::seconds kIdle{10};

tl::unexpected<Error> bad(std::string text) {
    return fail(Code::invalid_argument, std::move(text));
}

bool is_postgresql(std::string_view text) {
    return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

Result<> check_database(const Config& config) {
    if (config.database.empty() == config.database_url_file.empty())
        return bad("database: set either database or database_url_file");
    if (config.database.empty() || is_postgresql(config.database)) return {};
    if (!config.database.starts_with('/'))
        return bad("database: is neither an absolute path nor a URL postgresql://USER@HOST/NAME");
    return {};
}

Result<> check_retention(const Config& config) {
    if (config.retention_days == 0 || config.retention_days >= LedgerUpkeep::kLeastRetentionDays)
        return {};
    return bad(fmt::format("retention_days: {} is too few; write 0, or {} or more",
                           config.retention_days, LedgerUpkeep::kLeastRetentionDays));
}

}  // namespace

Result<> check_config(const ConfigValues& values) {
    const Config config = typed(values);
    TRY_VOID(check_database(config));
    TRY_VOID(check_retention(config));
    TRY_VOID(service_port_of(config));
    if (config.health_port == config.port) {
        return bad(fmt::format("health_port: {} is also the value of port; set another, or 0",
                               config.health_port));
    }
    if (!config.kubeconfig.empty()) TRY_VOID(connect_info({.path = config.kubeconfig}));
    return {};
}

Result<ServicePortOptions> service_port_of(const Config& config) {
    ServicePortOptions options = {.row = "port",
                                  .address = config.listen,
                                  .port = static_cast<int>(config.port),
                                  .threads = 16,
                                  .max_body_bytes = kMostLedgerBody,
                                  .component = "ledger",
                                  .authority = "tessera-ledger",
                                  .secret = config.authority_secret,
                                  .config_map = config.authority_config_map,
                                  .most_connections = kMostConnections,
                                  .idle = kIdle};
    TRY(options.service, read_object_name("service", config.service));
    if (options.service.name.empty()) return bad("service: missing; write NAMESPACE/NAME");
    if (options.secret.empty()) return bad("authority_secret: missing; write the name of a Secret");
    if (options.config_map.empty())
        return bad("authority_config_map: missing; write the name of a ConfigMap");
    return options;
}

HealthPort health_port_of(const Config& config) {
    return {.address = config.health_listen.empty() ? config.listen : config.health_listen,
            .port = config.health_port};
}

Result<DatabaseAddress> database_of(const Config& config) {
    if (is_postgresql(config.database)) return PostgresqlUrl{config.database};
    if (!config.database.empty()) return std::filesystem::path(config.database);
    const auto text = read_text_file(config.database_url_file);
    if (!text) return fail(text.error().in("database_url_file"));
    const std::string_view url = trimmed(*text);
    if (!is_postgresql(url)) {
        return bad(fmt::format("database_url_file: {}: has no URL postgresql://USER@HOST/DATABASE",
                               config.database_url_file));
    }
    return PostgresqlUrl{std::string(url)};
}

}  // namespace tessera

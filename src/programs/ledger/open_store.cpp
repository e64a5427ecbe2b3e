#include "programs/ledger/open_store.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "adapters/ledger/open_ledger.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kOpenAgain{5};

Result<std::unique_ptr<LedgerStore>> open(const DatabaseAddress& address) {
    if (const auto* const file = std::get_if<std::filesystem::path>(&address))
        return open_sqlite_ledger(*file);
    return open_postgresql_ledger(std::get<PostgresqlUrl>(address).text);
}

// An administrator can solve the others, such as rights, without a restart.
bool is_final(Code code) {
    return code == Code::corrupt || code == Code::unsupported || code == Code::invalid_argument;
}

HttpResponse answer_while_opening(const HttpRequest& request) {
    if (request.path == "/healthz") return {.body = "ok\n", .content_type = "text/plain"};
    return {.status = 503, .body = "the database is not open yet\n", .content_type = "text/plain"};
}

}  // namespace

Result<std::unique_ptr<LedgerStore>> open_store(const Config& config, StoreFaults& faults,
                                                Clock& clock, const std::stop_token& stop) {
    TRY(const DatabaseAddress address, database_of(config));
    TRY(const std::jthread health,
        serve_health(health_port_of(config), answer_while_opening, stop));
    while (!stop.stop_requested()) {
        auto store = open(address);
        if (!store && is_final(store.error().code)) return fail(store.error().in("database"));
        store = faults.note(StoreCall::open, std::move(store));
        if (store) return store;
        clock.sleep_for(kOpenAgain, stop);
    }
    return std::unique_ptr<LedgerStore>();
}

}  // namespace tessera

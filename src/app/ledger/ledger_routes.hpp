// The ledger's HTTP surface and its access control. Any thread may call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/common/route_answer.hpp"
#include "app/common/token_reviews.hpp"
#include "app/ledger/ledger_metrics.hpp"
#include "app/ledger/ledger_upkeep.hpp"
#include "app/ledger/route_table.hpp"
#include "app/ledger/store_faults.hpp"
#include "base/mutex.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// Of a body. A record has about 300 bytes, so this is 25,000 of them.
inline constexpr std::size_t kMostLedgerBody = std::size_t{8} << 20;

struct LedgerRequest {
    std::string_view method;
    std::string_view path;   // without the query
    std::string_view query;  // as it was sent
    std::string_view body;
};

class LedgerRoutes {
  public:
    struct Parts {
        LedgerStore& store;
        StoreFaults& faults;
        LedgerMetrics& metrics;
        LedgerUpkeep& upkeep;
        TokenReviews& tokens;
        Clock& clock;
    };
    // All references outlive this.
    explicit LedgerRoutes(Parts parts) : parts_(parts) {}

    // Before the body is read. Returns nothing if the request is allowed, else the answer that
    // refuses it.
    std::optional<RouteAnswer> refuse(const RequestHead& head);
    // `request` was allowed. Errors of the store are 503, so that the caller tries again, or 500 if
    // the database is damaged. Invalid records are 422.
    RouteAnswer answer(const LedgerRequest& request);

  private:
    // While the database does not answer, requests must not wait for it: they would keep all
    // threads busy, and /metrics would not answer.
    std::optional<RouteAnswer> refuse_now();
    RouteAnswer add(std::string_view body);
    RouteAnswer usage(std::string_view query);
    RouteAnswer budgets();
    RouteAnswer keep_budgets(std::string_view body);
    RouteAnswer refuse_records(const Error& error);

    const Parts parts_;
    Mutex mutex_;
    std::string refused_ TESSERA_GUARDED_BY(mutex_);  // the last reason that was logged
};

}  // namespace tessera

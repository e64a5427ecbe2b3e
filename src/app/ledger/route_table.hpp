// Every route of the ledger and its access requirement. Routing and access both read this list.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

enum class LedgerRoute {
#define LEDGER_ROUTE(name, method, path, need, meaning) name,
#include "app/ledger/routes.def"
#undef LEDGER_ROUTE
};

enum class LedgerNeed { nothing, token };

struct LedgerRouteRow {
    LedgerRoute route;
    std::string_view method;
    std::string_view path;
    LedgerNeed need;
};

inline constexpr auto kLedgerRoutes = std::to_array<LedgerRouteRow>({
#define LEDGER_ROUTE(name, method, path, need, meaning) \
    {LedgerRoute::name, method, path, LedgerNeed::need},
#include "app/ledger/routes.def"
#undef LEDGER_ROUTE
});

}  // namespace tessera

#include "adapters/ledger/budget_rows.hpp"

#include <algorithm>
#include <cstdint>

#include "ports/ledger/ledger_store.hpp"
#include "wire/tessera/kept_budgets_json.hpp"

namespace tessera {

Result<std::map<std::string, KeptBudget>> find_budgets(soci::session& sql) {
    std::map<std::string, KeptBudget> out;
    std::string ns;
    std::string text;
    soci::statement rows =
        (sql.prepare << "SELECT namespace, kept FROM budgets", soci::into(ns), soci::into(text));
    rows.execute();
    while (rows.fetch()) {
        auto kept = read_kept_budget(text);
        if (!kept) return fail(Code::corrupt, "the budget of " + ns + ": " + kept.error().text);
        out.insert_or_assign(ns, *std::move(kept));
    }
    return out;
}

void write_budgets(soci::session& sql, const std::map<std::string, KeptBudget>& budgets) {
    std::int64_t latest_s = 0;
    for (const auto& [ns, budget] : budgets) {
        const std::int64_t seen_s = budget.state.last_seen_s;
        const std::string text = write_kept_budget(budget);
        latest_s = std::max(latest_s, seen_s);
        sql << "INSERT INTO budgets (namespace, uid, last_seen, kept) "
               "VALUES (:ns, :uid, :seen, :kept) ON CONFLICT (namespace) DO UPDATE "
               "SET uid = excluded.uid, last_seen = excluded.last_seen, kept = excluded.kept "
               "WHERE budgets.uid <> excluded.uid OR budgets.last_seen <= excluded.last_seen",
            soci::use(ns, "ns"), soci::use(budget.uid, "uid"), soci::use(seen_s, "seen"),
            soci::use(text, "kept");
    }
    const std::int64_t before_s = latest_s - LedgerStore::kBudgetsKeptSeconds;
    sql << "DELETE FROM budgets WHERE last_seen < :before", soci::use(before_s, "before");
}

}  // namespace tessera

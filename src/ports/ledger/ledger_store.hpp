// Where the ledger keeps the usage records of a cluster, and their sums.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/kept_budget.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

// Counts records of single intervals: a roll-up counts as the records of its intervals.
struct AddedRecords {
    std::int64_t added = 0;  // new, or longer than the record of their key that they replaced
    std::int64_t copies =
        0;  // the store had them, or a longer record of their key, or removed them
};

// Rows of the store.
struct RolledUp {
    std::int64_t rows_before = 0;
    std::int64_t rows_after = 0;
};

// After calls of add and roll_up, by any number of stores on one database, the store has
// distinct_records() (domain/budget/roll_up.hpp) of all records that were added and not removed:
// each interval counts once, whatever the order and the number of copies.
//
// Threads: any thread may call, and calls may overlap. Writes wait for each other, but no read
// waits for a write. Each read sees the state between two transactions.
//
// Durability: what a call wrote is on the disk when the call returns a value. A process that is
// killed, or a machine that loses power, loses no such record and leaves none half written. After
// an error of add nothing was stored, with one exception: if the connection was lost while the
// transaction was committed, the records may be stored. So the caller calls again with the same
// records until add succeeds, and no interval counts twice.
//
// Errors of all calls:
// - unavailable: the database does not answer, does not accept the user, is locked for too long, or
//   its disk is full. The text says which. Call again later; a lost connection is made again by the
//   next call.
// - permission_denied: the database does not let this user write.
// - corrupt: the database is damaged. Nothing was repaired or replaced.
// - unsupported: a newer Tessera changed the database since it was opened. Nothing was written.
// - internal: the database refused a statement. Call again later.
// No call blocks for ever: waiting for other calls, connecting, waiting for a lock, and a
// transaction with a server each have a limit (LedgerLimits in adapters/ledger/open_ledger.hpp).
//
// Windows may be of any times. Windows and records have seconds; hours are aligned to the epoch.
class LedgerStore {
  public:
    static constexpr std::int64_t kBudgetsKeptSeconds = std::int64_t{35} * 24 * 3600;

    virtual ~LedgerStore() = default;

    // All of the records or none of them, in one transaction. A record that check_record refuses,
    // or with a text that is longer than 512 bytes or not printable ASCII, is an invalid_argument
    // error which names the record's field, and nothing is stored.
    [[nodiscard]] virtual Result<AddedRecords> add(std::span<const UsageRecord> records) = 0;

    // The records of a namespace in the window, ordered as distinct_records orders them. Records
    // that reach beyond the window are cut. Hours that were rolled up have roll-ups.
    [[nodiscard]] virtual Result<std::vector<UsageRecord>> records(const std::string& ns,
                                                                   Window window) = 0;

    // What the namespace used in the window: exact to the second, ordered by shape, without shapes
    // of 0 seconds. Equal to the sum over records(), but quick for any window: whole hours come
    // from a table of sums by hour.
    [[nodiscard]] virtual Result<std::vector<UsageSum>> usage(const std::string& ns,
                                                              Window window) = 0;

    // The same for each namespace with usage in the window, all of one moment.
    [[nodiscard]] virtual Result<std::map<std::string, std::vector<UsageSum>>> usage_by_namespace(
        Window window) = 0;

    // What is kept of the budgets of namespaces, by namespace.
    [[nodiscard]] virtual Result<std::map<std::string, KeptBudget>> budgets() = 0;
    // Replaces what is kept of these namespaces, in one transaction, unless the same budget
    // (KeptBudget::uid) was evaluated later (BudgetState::last_seen_s). Budgets that were evaluated
    // kBudgetsKeptSeconds before the latest of these are removed: they were deleted.
    [[nodiscard]] virtual Result<> keep_budgets(
        const std::map<std::string, KeptBudget>& budgets) = 0;

    // Joins the records of hours that end at or before `before_s` (unix seconds), as the domain's
    // roll_up does. Nothing that the other calls say about usage changes. Each transaction joins
    // some thousand rows, so that add never waits for long. After an error, or if the process is
    // killed, the rest waits for the next call. A record that arrives later for an hour that was
    // rolled up is joined by the next call. `stop` is read before each transaction: what is left
    // then waits for the next call, too.
    [[nodiscard]] virtual Result<RolledUp> roll_up(std::int64_t before_s,
                                                   const std::stop_token& stop) = 0;

    // Removes the hours that end at or before `unix_s`, records and sums together, in transactions
    // of some thousand rows. Returns the number of rows of records. The store remembers the time:
    // records of these hours that are added later are ignored, and count as copies. `stop` is as
    // above.
    [[nodiscard]] virtual Result<std::int64_t> remove_before(std::int64_t unix_s,
                                                             const std::stop_token& stop) = 0;
};

}  // namespace tessera

#include "adapters/ledger/sql_ledger.hpp"

#include <algorithm>

#include "adapters/ledger/budget_rows.hpp"
#include "adapters/ledger/open_ledger.hpp"
#include "adapters/ledger/postgresql_database.hpp"
#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/record_writer.hpp"
#include "adapters/ledger/roll_up_rows.hpp"
#include "adapters/ledger/schema.hpp"
#include "adapters/ledger/sqlite_database.hpp"
#include "adapters/ledger/usage_query.hpp"
#include "ports/ledger/check_stored.hpp"

namespace tessera {
namespace {

// Of a transaction that reads.
template <class T>
Result<T> read(Connection& connection, const std::function<T(soci::session&)>& find) {
    T found;
    const Connection::Work work = [&](soci::session& sql) -> Result<> {
        TRY_VOID(check_version(sql));
        found = find(sql);
        return {};
    };
    TRY_VOID(connection.read(work));
    return found;
}

// The hours that end at or before.
std::int64_t end_of_hours(std::int64_t unix_s) {
    return hour_of(std::clamp<std::int64_t>(unix_s, 0, kEndOfTime));
}

}  // namespace

Result<std::unique_ptr<LedgerStore>> SqlLedger::open(std::unique_ptr<const Database> database) {
    auto ledger = std::make_unique<SqlLedger>(std::move(database));
    TRY_VOID(migrate(ledger->database_->dialect(), ledger->writer_));
    return ledger;
}

Result<> SqlLedger::write(const Connection::Work& work) {
    return writer_.write([&](soci::session& sql) -> Result<> {
        TRY_VOID(check_version(sql));
        return work(sql);
    });
}

Result<AddedRecords> SqlLedger::add(std::span<const UsageRecord> records) {
    for (const UsageRecord& record : records)
        TRY_VOID(check_stored(record));
    AddedRecords added;
    if (records.empty()) return added;
    TRY_VOID(write([&](soci::session& sql) -> Result<> {
        added = add_records(sql, records);
        return {};
    }));
    return added;
}

Result<std::vector<UsageRecord>> SqlLedger::records(const std::string& ns, Window window) {
    return read<std::vector<UsageRecord>>(
        reader_, [&](soci::session& sql) { return find_records(sql, ns, window); });
}

Result<std::vector<UsageSum>> SqlLedger::usage(const std::string& ns, Window window) {
    return read<std::vector<UsageSum>>(
        reader_, [&](soci::session& sql) { return find_usage(sql, ns, window); });
}

Result<std::map<std::string, std::vector<UsageSum>>> SqlLedger::usage_by_namespace(Window window) {
    return read<std::map<std::string, std::vector<UsageSum>>>(
        reader_, [&](soci::session& sql) { return find_all_usage(sql, window); });
}

Result<std::map<std::string, KeptBudget>> SqlLedger::budgets() {
    std::map<std::string, KeptBudget> found;
    const Connection::Work work = [&](soci::session& sql) -> Result<> {
        TRY_VOID(check_version(sql));
        TRY(found, find_budgets(sql));
        return {};
    };
    TRY_VOID(reader_.read(work));
    return found;
}

Result<> SqlLedger::keep_budgets(const std::map<std::string, KeptBudget>& budgets) {
    if (budgets.empty()) return {};
    return write([&](soci::session& sql) -> Result<> {
        write_budgets(sql, budgets);
        return {};
    });
}

Result<RolledUp> SqlLedger::roll_up(std::int64_t before_s, const std::stop_token& stop) {
    const std::int64_t hour = end_of_hours(before_s);
    RolledUp rows;
    RolledUpPart part;
    while (!part.is_last && !stop.stop_requested()) {
        TRY_VOID(write([&](soci::session& sql) -> Result<> {
            part = roll_up_some(sql, {hour, database_->limits().rows});
            return {};
        }));
        rows.rows_before += part.rows.rows_before;
        rows.rows_after += part.rows.rows_after;
    }
    return rows;
}

Result<std::int64_t> SqlLedger::remove_before(std::int64_t unix_s, const std::stop_token& stop) {
    const std::int64_t hour = end_of_hours(unix_s);
    std::int64_t rows = 0;
    RemovedPart part;
    while (!part.is_last && !stop.stop_requested()) {
        TRY_VOID(write([&](soci::session& sql) -> Result<> {
            part = remove_some(sql, {hour, database_->limits().rows});
            return {};
        }));
        rows += part.rows;
    }
    return rows;
}

Result<std::unique_ptr<LedgerStore>> open_sqlite_ledger(const std::filesystem::path& file,
                                                        LedgerLimits limits) {
    TRY(auto database, SqliteDatabase::open(file, limits));
    return SqlLedger::open(std::move(database));
}

Result<std::unique_ptr<LedgerStore>> open_postgresql_ledger(const std::string& url,
                                                            LedgerLimits limits) {
    TRY(auto database, PostgresqlDatabase::of(url, limits));
    return SqlLedger::open(std::move(database));
}

}  // namespace tessera

#include "adapters/ledger/roll_up_rows.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_batch.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kIntervals = kRollUpSeconds / kIntervalSeconds;
// Of hourly_usage, at a time: those of a few hours.
constexpr std::int64_t kSums = 2000;

RowValues key_of(const RecordRow& row) {
    return {row.hour, row.ns, row.share};
}

bool is_of_one_share(const RecordRow& a, const RecordRow& b) {
    return a.hour == b.hour && a.ns == b.ns && a.share == b.share;
}

std::vector<RowValues> find_pending(soci::session& sql, std::int64_t before_hour,
                                    std::int64_t most) {
    RecordRow row;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::use(before_hour, "before"));
        statement.exchange(soci::use(most, "most"));
        statement.exchange(soci::into(row.hour));
        statement.exchange(soci::into(row.ns));
        statement.exchange(soci::into(row.share));
    };
    std::vector<RowValues> pending;
    query(sql,
          "SELECT hour, namespace_id, share_id FROM pending_roll_ups WHERE hour < :before "
          "ORDER BY hour, namespace_id, share_id LIMIT :most",
          {.bind = bind, .visit = [&] { pending.push_back(key_of(row)); }});
    return pending;
}

// All of the shares in their hours, one share after the other.
std::vector<RecordRow> find_rows(soci::session& sql, const std::vector<RowValues>& shares) {
    RecordRow row;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::into(row.hour));
        statement.exchange(soci::into(row.ns));
        statement.exchange(soci::into(row.share));
        statement.exchange(soci::into(row.from_second));
        statement.exchange(soci::into(row.to_second));
        statement.exchange(soci::into(row.shape));
    };
    std::vector<RecordRow> rows;
    query_rows(sql,
               "WITH asked(hour, ns, share) AS (VALUES {rows}) "
               "SELECT r.hour, r.namespace_id, r.share_id, r.from_second, r.to_second, r.shape_id "
               "FROM asked a CROSS JOIN usage_records r WHERE r.namespace_id = a.ns AND "
               "r.hour = a.hour AND r.share_id = a.share",
               shares, {.bind = bind, .visit = [&] { rows.push_back(row); }});
    std::ranges::sort(rows, {}, [](const RecordRow& each) {
        return std::tuple(each.hour, each.ns, each.share, each.from_second);
    });
    return rows;
}

// Of one share in one hour. The roll-up only compares shapes, so the id of a shape stands for it,
// and the identity and the names, which are the same, are left empty.
std::vector<RecordRow> rolled_up(std::span<const RecordRow> rows) {
    std::vector<UsageRecord> records;
    records.reserve(rows.size());
    for (const RecordRow& row : rows) {
        UsageRecord& record = records.emplace_back();
        record.time = row.time();
        record.capacity = {row.shape};
    }
    std::vector<RecordRow> joined;
    for (const UsageRecord& record : roll_up(records)) {
        RecordRow& row = joined.emplace_back(rows.front());
        row.from_second = record.time.from_s - start_of(row.hour);
        row.to_second = record.time.to_s - start_of(row.hour);
        row.shape = record.capacity.count;
    }
    return joined;
}

// Hours of namespaces that have records and are old, of about limit.rows rows after a roll-up. Each
// record has at least a second, so each hour with records has sums.
struct OldHours {
    std::vector<RowValues> hours;  // namespace and hour
    bool is_all = false;
};
OldHours find_old_hours(soci::session& sql, PartLimit limit) {
    struct Sum {
        RowId ns = 0;
        std::int64_t hour = 0;
        std::int64_t seconds = 0;
    };
    Sum sum;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::use(limit.hour, "before"));
        statement.exchange(soci::use(kSums, "most"));
        statement.exchange(soci::into(sum.ns));
        statement.exchange(soci::into(sum.hour));
        statement.exchange(soci::into(sum.seconds));
    };
    std::vector<Sum> sums;
    query(sql,
          "SELECT h.namespace_id, h.hour, h.seconds FROM namespaces n "
          "CROSS JOIN hourly_usage h WHERE h.namespace_id = n.id AND h.hour < :before LIMIT :most",
          {.bind = bind, .visit = [&] { sums.push_back(sum); }});
    OldHours old{.hours = {}, .is_all = std::ssize(sums) < kSums};
    std::set<std::pair<RowId, std::int64_t>> seen;
    std::int64_t rows = 0;
    for (const Sum& each : sums) {
        const bool is_new = !seen.contains({each.ns, each.hour});
        if (is_new && rows >= limit.rows) {
            old.is_all = false;
            break;
        }
        rows += each.seconds / kRollUpSeconds + 1;
        if (!is_new) continue;
        seen.emplace(each.ns, each.hour);
        old.hours.push_back({each.ns, each.hour});
    }
    return old;
}

std::int64_t count_records(soci::session& sql, const std::vector<RowValues>& hours) {
    std::int64_t rows = 0;
    std::int64_t sum = 0;
    query_rows(sql,
               "WITH old(ns, hour) AS (VALUES {rows}) SELECT COUNT(*) FROM usage_records "
               "WHERE (namespace_id, hour) IN (SELECT ns, hour FROM old)",
               hours,
               {.bind = [&](soci::statement& statement) { statement.exchange(soci::into(rows)); },
                .visit = [&] { sum += rows; }});
    return sum;
}

// What no record refers to any more. Each shape of a record has sums.
void remove_unused(soci::session& sql, std::int64_t before_hour) {
    sql << "DELETE FROM gpu_shares WHERE last_hour < :hour", soci::use(before_hour, "hour");
    sql << "DELETE FROM namespaces WHERE id NOT IN (SELECT DISTINCT namespace_id FROM gpu_shares)";
    sql << "DELETE FROM shapes WHERE id NOT IN (SELECT DISTINCT shape_id FROM hourly_usage)";
}

}  // namespace

RolledUpPart roll_up_some(soci::session& sql, PartLimit limit) {
    const std::int64_t most = std::max<std::int64_t>(limit.rows / kIntervals, 1);
    const std::vector<RowValues> pending = find_pending(sql, limit.hour, most);
    RolledUpPart part{.rows = {}, .is_last = std::ssize(pending) < most};
    const std::vector<RecordRow> rows = find_rows(sql, pending);
    std::vector<RowValues> replaced;
    std::vector<RowValues> added;
    for (auto from = rows.begin(); from != rows.end();) {
        const auto to = std::find_if_not(
            from, rows.end(), [&](const RecordRow& row) { return is_of_one_share(*from, row); });
        const std::vector<RecordRow> joined = rolled_up({from, to});
        part.rows.rows_before += to - from;
        part.rows.rows_after += std::ssize(joined);
        if (std::ssize(joined) < to - from) {
            replaced.push_back(key_of(*from));
            for (const RecordRow& row : joined) {
                added.push_back(
                    {row.ns, row.hour, row.share, row.from_second, row.to_second, row.shape});
            }
        }
        from = to;
    }
    execute_rows(sql,
                 "WITH old(hour, ns, share) AS (VALUES {rows}) DELETE FROM usage_records "
                 "WHERE (hour, namespace_id, share_id) IN (SELECT hour, ns, share FROM old)",
                 replaced);
    execute_rows(sql,
                 "INSERT INTO usage_records (namespace_id, hour, share_id, from_second, to_second, "
                 "shape_id) VALUES {rows}",
                 added);
    execute_rows(sql,
                 "WITH done(hour, ns, share) AS (VALUES {rows}) DELETE FROM pending_roll_ups "
                 "WHERE (hour, namespace_id, share_id) IN (SELECT hour, ns, share FROM done)",
                 pending);
    return part;
}

RemovedPart remove_some(soci::session& sql, PartLimit limit) {
    // Before anything is removed, in the same transaction: what add ignores can never be stored.
    sql << "UPDATE removals SET before_hour = :hour WHERE before_hour < :hour",
        soci::use(limit.hour, "hour");
    const OldHours old = find_old_hours(sql, limit);
    const RemovedPart part{.rows = count_records(sql, old.hours), .is_last = old.is_all};
    for (const char* table : {"usage_records", "hourly_usage", "pending_roll_ups"}) {
        execute_rows(sql,
                     std::string("WITH old(ns, hour) AS (VALUES {rows}) DELETE FROM ") + table +
                         " WHERE (namespace_id, hour) IN (SELECT ns, hour FROM old)",
                     old.hours);
    }
    if (part.is_last) remove_unused(sql, limit.hour);
    return part;
}

std::int64_t removed_before_hour(soci::session& sql) {
    std::int64_t hour = 0;
    sql << "SELECT COALESCE(MAX(before_hour), 0) FROM removals", soci::into(hour);
    return hour;
}

}  // namespace tessera

#include "adapters/ledger/roll_up_rows.hpp"

#include <vector>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_ids.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

// In a transaction. The last share or hour may add to it.
constexpr std::int64_t kRowsAtATime = 5000;
// Most have one row for each minute. A share of an hour that was rolled up before has fewer.
constexpr std::int64_t kSharesAtATime = 2000;

std::vector<RecordRow> find_pending(soci::session& sql, std::int64_t before_hour) {
    RecordRow row{.from_second = 0, .to_second = kRollUpSeconds};
    soci::statement find = (sql.prepare << "SELECT hour, namespace_id, share_id "
                                           "FROM pending_roll_ups WHERE hour < :before "
                                           "ORDER BY hour, namespace_id, share_id LIMIT :most",
                            soci::use(before_hour, "before"), soci::use(kSharesAtATime, "most"),
                            soci::into(row.hour), soci::into(row.ns), soci::into(row.share));
    std::vector<RecordRow> pending;
    find.execute();
    while (find.fetch())
        pending.push_back(row);
    return pending;
}

// Of one share in one hour, so their identity and names are the same and can be left empty.
std::vector<RecordRow> rolled_up(const std::vector<RecordRow>& rows, RowIds& ids) {
    std::vector<UsageRecord> records;
    records.reserve(rows.size());
    for (const RecordRow& row : rows)
        records.push_back(record_of(row, ids.shape(row.shape)));
    std::vector<RecordRow> joined;
    for (const UsageRecord& record : roll_up(records)) {
        RecordRow& row = joined.emplace_back(rows.front());
        row.from_second = record.time.from_s - start_of(row.hour);
        row.to_second = record.time.to_s - start_of(row.hour);
        row.shape = ids.find_or_add_shape(shape_of(record));
    }
    return joined;
}

std::vector<RowId> all_namespaces(soci::session& sql) {
    RowId id = 0;
    soci::statement find = (sql.prepare << "SELECT id FROM namespaces", soci::into(id));
    std::vector<RowId> ids;
    find.execute();
    while (find.fetch())
        ids.push_back(id);
    return ids;
}

// Each record has at least a second, so each hour with records has sums.
std::vector<std::int64_t> some_hours(soci::session& sql, RowId ns, std::int64_t before_hour) {
    std::int64_t hour = 0;
    soci::statement find =
        (sql.prepare << "SELECT DISTINCT hour FROM hourly_usage "
                        "WHERE namespace_id = :ns AND hour < :before ORDER BY hour LIMIT 100",
         soci::use(ns, "ns"), soci::use(before_hour, "before"), soci::into(hour));
    std::vector<std::int64_t> hours;
    find.execute();
    while (find.fetch())
        hours.push_back(hour);
    return hours;
}

std::int64_t remove_hour(soci::session& sql, RowId ns, std::int64_t hour) {
    soci::statement records = (sql.prepare << "DELETE FROM usage_records WHERE "
                                              "namespace_id = :ns AND hour = :hour",
                               soci::use(ns, "ns"), soci::use(hour, "hour"));
    records.execute(true);
    sql << "DELETE FROM hourly_usage WHERE namespace_id = :ns AND hour = :hour",
        soci::use(ns, "ns"), soci::use(hour, "hour");
    sql << "DELETE FROM pending_roll_ups WHERE namespace_id = :ns AND hour = :hour",
        soci::use(ns, "ns"), soci::use(hour, "hour");
    return records.get_affected_rows();
}

}  // namespace

RolledUpPart roll_up_some(soci::session& sql, std::int64_t hour) {
    const std::vector<RecordRow> pending = find_pending(sql, hour);
    RolledUpPart part{.rows = {}, .is_last = std::ssize(pending) < kSharesAtATime};
    RowIds ids(sql);
    RecordRows table(sql);
    RecordRow done;
    soci::statement note_done =
        (sql.prepare << "DELETE FROM pending_roll_ups WHERE hour = :hour AND namespace_id = :ns "
                        "AND share_id = :share",
         soci::use(done.hour, "hour"), soci::use(done.ns, "ns"), soci::use(done.share, "share"));
    for (const RecordRow& share : pending) {
        if (part.rows.rows_before >= kRowsAtATime) {
            part.is_last = false;
            break;
        }
        const std::vector<RecordRow> rows = table.find(share);
        const std::vector<RecordRow> joined = rolled_up(rows, ids);
        part.rows.rows_before += std::ssize(rows);
        part.rows.rows_after += std::ssize(joined);
        if (joined.size() < rows.size()) {
            for (const RecordRow& row : rows)
                table.remove(row);
            for (const RecordRow& row : joined)
                table.insert(row);
        }
        done = share;
        note_done.execute(true);
    }
    return part;
}

RemovedPart remove_some(soci::session& sql, std::int64_t hour) {
    RemovedPart part;
    for (const RowId ns : all_namespaces(sql)) {
        for (const std::int64_t old : some_hours(sql, ns, hour)) {
            part.rows += remove_hour(sql, ns, old);
            if (part.rows >= kRowsAtATime) return part;
        }
        if (!some_hours(sql, ns, hour).empty()) return part;
    }
    sql << "DELETE FROM gpu_shares WHERE last_hour < :hour", soci::use(hour, "hour");
    part.is_last = true;
    return part;
}

}  // namespace tessera

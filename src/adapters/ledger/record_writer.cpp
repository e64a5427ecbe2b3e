#include "adapters/ledger/record_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

// Id hides its text from SOCI, so the text is bound as a constant reference.
const std::string& text(const auto& id) {
    return id.str();
}

std::vector<UsageRecord> split(const std::vector<UsageRecord>& records) {
    std::vector<UsageRecord> pieces;
    for (const UsageRecord& record : records)
        std::ranges::move(split_into_intervals(record), std::back_inserter(pieces));
    std::ranges::sort(pieces);
    return pieces;
}

// Those of `a` that are not in `b`; both are sorted.
std::vector<UsageRecord> without(const std::vector<UsageRecord>& a,
                                 const std::vector<UsageRecord>& b) {
    std::vector<UsageRecord> rest;
    std::ranges::set_difference(a, b, std::back_inserter(rest));
    return rest;
}

// The intervals that the records have, from the first to the last.
Window reach_of(const std::vector<UsageRecord>& records) {
    Window reach = records.front().time;
    for (const UsageRecord& record : records) {
        reach = {std::min(reach.from_s, record.time.from_s),
                 std::max(reach.to_s, record.time.to_s)};
    }
    return {reach.from_s / kIntervalSeconds * kIntervalSeconds,
            ((reach.to_s - 1) / kIntervalSeconds + 1) * kIntervalSeconds};
}

bool are_of_one_group(const UsageRecord& a, const UsageRecord& b) {
    return a.pod == b.pod && a.container == b.container && a.gpu == b.gpu &&
           hour_of(a.time.from_s) == hour_of(b.time.from_s);
}

}  // namespace

AddedRecords add_records(soci::session& sql, std::span<const UsageRecord> records) {
    std::vector<const UsageRecord*> sorted;
    sorted.reserve(records.size());
    for (const UsageRecord& record : records)
        sorted.push_back(&record);
    std::ranges::sort(sorted, [](const UsageRecord* a, const UsageRecord* b) {
        return std::tie(a->pod, a->container, a->gpu, a->time.from_s) <
               std::tie(b->pod, b->container, b->gpu, b->time.from_s);
    });
    RecordWriter writer(sql);
    std::vector<UsageRecord> group;
    for (const UsageRecord* record : sorted) {
        if (!group.empty() && !are_of_one_group(group.front(), *record)) {
            writer.add(group);
            group.clear();
        }
        group.push_back(*record);
    }
    if (!group.empty()) writer.add(group);
    writer.write_sums();
    return writer.added();
}

RecordWriter::RecordWriter(soci::session& sql)
    : sql_(sql),
      ids_(sql),
      rows_(sql),
      find_shares_((sql.prepare << "SELECT s.id, s.namespace_id, n.name, s.pod_name, s.last_hour "
                                   "FROM gpu_shares s JOIN namespaces n ON n.id = s.namespace_id "
                                   "WHERE s.pod = :pod AND s.container = :container AND "
                                   "s.gpu = :gpu",
                    soci::use(text(key_.pod), "pod"), soci::use(key_.container, "container"),
                    soci::use(text(key_.gpu), "gpu"), soci::into(found_.id),
                    soci::into(found_.ns_id), soci::into(found_.name.ns),
                    soci::into(found_.name.name), soci::into(found_.last_hour))),
      note_pending_((sql.prepare << "INSERT INTO pending_roll_ups (hour, namespace_id, share_id) "
                                    "VALUES (:hour, :ns, :share) ON CONFLICT DO NOTHING",
                     soci::use(pending_.hour, "hour"), soci::use(pending_.ns, "ns"),
                     soci::use(pending_.share, "share"))) {}

void RecordWriter::find_shares(const UsageRecord& record) {
    if (key_.pod == record.pod && key_.container == record.container && key_.gpu == record.gpu)
        return;
    key_.pod = record.pod;
    key_.container = record.container;
    key_.gpu = record.gpu;
    shares_.clear();
    find_shares_.execute();
    while (find_shares_.fetch())
        shares_.push_back(found_);
}

RecordWriter::Share& RecordWriter::share_of(const UsageRecord& record, std::int64_t hour) {
    const auto at = std::ranges::find(shares_, record.name, &Share::name);
    if (at != shares_.end()) {
        if (at->last_hour < hour) {
            sql_ << "UPDATE gpu_shares SET last_hour = :hour WHERE id = :id",
                soci::use(hour, "hour"), soci::use(at->id, "id");
            at->last_hour = hour;
        }
        return *at;
    }
    Share& share = shares_.emplace_back();
    share.ns_id = ids_.find_or_add_namespace(record.name.ns);
    share.name = record.name;
    share.last_hour = hour;
    sql_ << "INSERT INTO gpu_shares (pod, container, gpu, namespace_id, pod_name, last_hour) "
            "VALUES (:pod, :container, :gpu, :ns, :name, :hour) RETURNING id",
        soci::use(text(record.pod), "pod"), soci::use(record.container, "container"),
        soci::use(text(record.gpu), "gpu"), soci::use(share.ns_id, "ns"),
        soci::use(share.name.name, "name"), soci::use(hour, "hour"), soci::into(share.id);
    return share;
}

// Sorted. The window is within an hour.
std::vector<UsageRecord> RecordWriter::find_stored(const UsageRecord& like, Window window) {
    std::vector<UsageRecord> stored;
    const std::int64_t hour = hour_of(window.from_s);
    for (const Share& share : shares_) {
        for (const RecordRow& row : rows_.find({.ns = share.ns_id,
                                                .hour = hour,
                                                .share = share.id,
                                                .from_second = window.from_s - start_of(hour),
                                                .to_second = window.to_s - start_of(hour)})) {
            UsageRecord& record = stored.emplace_back(record_of(row, ids_.shape(row.shape)));
            record.pod = like.pod;
            record.container = like.container;
            record.gpu = like.gpu;
            record.name = share.name;
        }
    }
    std::ranges::sort(stored);
    return stored;
}

RecordRow RecordWriter::row_of(const UsageRecord& record, std::int64_t hour) {
    const Share& share = share_of(record, hour);
    return {.ns = share.ns_id,
            .hour = hour,
            .share = share.id,
            .from_second = record.time.from_s - start_of(hour),
            .to_second = record.time.to_s - start_of(hour),
            .shape = ids_.find_or_add_shape(shape_of(record))};
}

void RecordWriter::insert(const UsageRecord& record, std::int64_t hour) {
    const RecordRow row = row_of(record, hour);
    rows_.insert(row);
    sums_[{row.ns, hour, row.shape}] += record.time.seconds();
    const bool is_noted =
        pending_.hour == hour && pending_.ns == row.ns && pending_.share == row.share;
    if (is_noted) return;
    pending_ = row;
    note_pending_.execute(true);
}

void RecordWriter::remove(const UsageRecord& record, std::int64_t hour) {
    const RecordRow row = row_of(record, hour);
    rows_.remove(row);
    sums_[{row.ns, hour, row.shape}] -= record.time.seconds();
}

void RecordWriter::add(const std::vector<UsageRecord>& records) {
    const std::int64_t hour = hour_of(records.front().time.from_s);
    find_shares(records.front());
    const std::vector<UsageRecord> stored = find_stored(records.front(), reach_of(records));
    std::vector<UsageRecord> all = stored;
    all.insert(all.end(), records.begin(), records.end());
    std::vector<UsageRecord> merged = distinct_records(all);
    std::ranges::sort(merged);
    const auto changes = static_cast<std::int64_t>(without(split(merged), split(stored)).size());
    added_.added += changes;
    added_.copies += static_cast<std::int64_t>(split(records).size()) - changes;
    // A copy of an interval of a roll-up would split it.
    if (changes == 0) return;
    // First what goes: a new row can have the key of an old one.
    for (const UsageRecord& record : without(stored, merged))
        remove(record, hour);
    for (const UsageRecord& record : without(merged, stored))
        insert(record, hour);
}

void RecordWriter::write_sums() {
    struct {
        RowId ns = 0;
        std::int64_t hour = 0;
        RowId shape = 0;
        std::int64_t seconds = 0;
    } row;
    soci::statement add =
        (sql_.prepare << "INSERT INTO hourly_usage (namespace_id, hour, shape_id, seconds) "
                         "VALUES (:ns, :hour, :shape, :seconds) "
                         "ON CONFLICT (namespace_id, hour, shape_id) DO UPDATE "
                         "SET seconds = hourly_usage.seconds + excluded.seconds",
         soci::use(row.ns, "ns"), soci::use(row.hour, "hour"), soci::use(row.shape, "shape"),
         soci::use(row.seconds, "seconds"));
    soci::statement remove =
        (sql_.prepare << "DELETE FROM hourly_usage WHERE namespace_id = :ns AND hour = :hour AND "
                         "shape_id = :shape AND seconds = 0",
         soci::use(row.ns, "ns"), soci::use(row.hour, "hour"), soci::use(row.shape, "shape"));
    for (const auto& [key, sum] : sums_) {
        std::tie(row.ns, row.hour, row.shape) = key;
        row.seconds = sum;
        if (sum != 0) add.execute(true);
        if (sum < 0) remove.execute(true);
    }
    sums_.clear();
}

}  // namespace tessera

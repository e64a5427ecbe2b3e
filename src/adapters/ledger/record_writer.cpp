#include "adapters/ledger/record_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "adapters/ledger/roll_up_rows.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

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

RowValues values_of(const UsageShape& shape) {
    return {shape.model, shape.memory.count, shape.capacity.count,
            std::int64_t{shape.compute.value}, std::int64_t{shape.whole ? 1 : 0}};
}

}  // namespace

AddedRecords add_records(soci::session& sql, std::span<const UsageRecord> records) {
    RecordWriter writer(sql);
    writer.read(records);
    writer.write();
    return writer.added();
}

void RecordWriter::read(std::span<const UsageRecord> records) {
    make_groups(records);
    std::set<ShareKey> keys;
    for (const Group& group : groups_)
        keys.insert(key_of(group.records.front()));
    find_shares(keys);
    find_stored();
}

void RecordWriter::write() {
    for (Group& group : groups_)
        merge(group);
    add_namespaces();
    add_shares();
    add_shapes();
    raise_last_hours();
    write_rows();
    write_sums();
}

RecordWriter::ShareKey RecordWriter::key_of(const UsageRecord& record) {
    return {record.pod.str(), record.container, record.gpu.str()};
}

// What was removed counts as stored.
void RecordWriter::make_groups(std::span<const UsageRecord> records) {
    const std::int64_t removed_before = removed_before_hour(sql_);
    std::map<std::pair<ShareKey, std::int64_t>, Group> groups;
    for (const UsageRecord& record : records) {
        const std::int64_t hour = hour_of(record.time.from_s);
        if (hour < removed_before) {
            added_.copies += std::ssize(split_into_intervals(record));
            continue;
        }
        Group& group = groups[{key_of(record), hour}];
        group.hour = hour;
        group.records.push_back(record);
    }
    groups_.reserve(groups.size());
    for (auto& [key, group] : groups)
        groups_.push_back(std::move(group));
}

void RecordWriter::find_shares(const std::set<ShareKey>& keys) {
    std::vector<RowValues> rows;
    for (const auto& [pod, container, gpu] : keys) {
        rows.push_back({pod, container, gpu});
        shares_[{pod, container, gpu}].clear();
    }
    ShareKey key;
    Share share;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::into(std::get<0>(key)));
        statement.exchange(soci::into(std::get<1>(key)));
        statement.exchange(soci::into(std::get<2>(key)));
        statement.exchange(soci::into(share.id));
        statement.exchange(soci::into(share.ns_id));
        statement.exchange(soci::into(share.name.ns));
        statement.exchange(soci::into(share.name.name));
        statement.exchange(soci::into(share.last_hour));
    };
    const auto visit = [&] {
        shares_[key].push_back(share);
        namespaces_[share.name.ns] = share.ns_id;
    };
    query_rows(sql_,
               "WITH asked(pod, container, gpu) AS (VALUES {rows}) "
               "SELECT s.pod, s.container, s.gpu, s.id, s.namespace_id, n.name, s.pod_name, "
               "s.last_hour FROM asked a CROSS JOIN gpu_shares s "
               "JOIN namespaces n ON n.id = s.namespace_id "
               "WHERE s.pod = a.pod AND s.container = a.container AND s.gpu = a.gpu",
               rows, {.bind = bind, .visit = visit});
}

void RecordWriter::find_stored() {
    struct Place {
        Group* group = nullptr;
        const Share* share = nullptr;
    };
    std::vector<Place> places;
    std::vector<RowValues> asked;
    for (Group& group : groups_) {
        const Window reach = reach_of(group.records);
        for (const Share& share : shares_.at(key_of(group.records.front()))) {
            asked.push_back({std::ssize(places), share.ns_id, group.hour, share.id,
                             reach.from_s - start_of(group.hour),
                             reach.to_s - start_of(group.hour)});
            places.push_back({&group, &share});
        }
    }
    std::int64_t place = 0;
    RecordRow row;
    ShapeRow shape;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::into(place));
        statement.exchange(soci::into(row.from_second));
        statement.exchange(soci::into(row.to_second));
        statement.exchange(soci::into(row.shape));
        shape.bind(statement);
    };
    const auto visit = [&] {
        const auto& [group, share] = places.at(static_cast<std::size_t>(place));
        // The identity is that of the group.
        UsageRecord& record = group->stored.emplace_back(group->records.front());
        row.hour = group->hour;
        record.time = row.time();
        record.name = share->name;
        set_shape(record, shape.get());
        shapes_[shape.get()] = row.shape;
    };
    query_rows(
        sql_,
        fmt::format("WITH asked(place, ns, hour, share, since, until) AS (VALUES {{rows}}) "
                    "SELECT place, from_second, to_second, shape_id, {} "
                    "FROM asked a CROSS JOIN usage_records r {} WHERE r.namespace_id = a.ns AND "
                    "r.hour = a.hour AND r.share_id = a.share AND r.from_second < a.until AND "
                    "r.to_second > a.since",
                    ShapeRow::kColumns, ShapeRow::kJoin),
        asked, {.bind = bind, .visit = visit});
    for (Group& group : groups_)
        std::ranges::sort(group.stored);
}

void RecordWriter::merge(Group& group) {
    std::vector<UsageRecord> all = group.stored;
    all.insert(all.end(), group.records.begin(), group.records.end());
    std::vector<UsageRecord> merged = distinct_records(all);
    std::ranges::sort(merged);
    const std::int64_t changes = std::ssize(without(split(merged), split(group.stored)));
    added_.added += changes;
    added_.copies += std::ssize(split(group.records)) - changes;
    // A copy of an interval of a roll-up would split it.
    if (changes == 0) return;
    group.removed = without(group.stored, merged);
    group.inserted = without(merged, group.stored);
}

RecordWriter::Share* RecordWriter::share_of(const UsageRecord& record) {
    std::vector<Share>& shares = shares_.at(key_of(record));
    const auto at = std::ranges::find(shares, record.name, &Share::name);
    return at == shares.end() ? nullptr : &*at;
}

RecordRow RecordWriter::row_of(const UsageRecord& record) {
    const Share& share = *share_of(record);
    const std::int64_t hour = hour_of(record.time.from_s);
    return {.ns = share.ns_id,
            .hour = hour,
            .share = share.id,
            .from_second = record.time.from_s - start_of(hour),
            .to_second = record.time.to_s - start_of(hour),
            .shape = shapes_.at(shape_of(record))};
}

void RecordWriter::add_namespaces() {
    std::set<std::string> names;
    for (const Group& group : groups_) {
        for (const UsageRecord& record : group.inserted) {
            if (!namespaces_.contains(record.name.ns)) names.insert(record.name.ns);
        }
    }
    std::vector<RowValues> rows;
    rows.reserve(names.size());
    for (const std::string& name : names)
        rows.push_back({name});
    execute_rows(sql_, "INSERT INTO namespaces (name) VALUES {rows} ON CONFLICT DO NOTHING", rows);
    std::string name;
    RowId id = 0;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::into(name));
        statement.exchange(soci::into(id));
    };
    query_rows(sql_, "SELECT name, id FROM namespaces WHERE name IN (VALUES {rows})", rows,
               {.bind = bind, .visit = [&] { namespaces_[name] = id; }});
}

void RecordWriter::add_shares() {
    std::set<ShareKey> keys;
    std::set<RowValues> rows;
    for (const Group& group : groups_) {
        for (const UsageRecord& record : group.inserted) {
            if (share_of(record) != nullptr) continue;
            const ShareKey key = key_of(record);
            keys.insert(key);
            rows.insert({std::get<0>(key), std::get<1>(key), std::get<2>(key),
                         namespaces_.at(record.name.ns), record.name.name, std::int64_t{0}});
        }
    }
    execute_rows(sql_,
                 "INSERT INTO gpu_shares (pod, container, gpu, namespace_id, pod_name, last_hour) "
                 "VALUES {rows}",
                 std::vector<RowValues>(rows.begin(), rows.end()));
    find_shares(keys);
}

void RecordWriter::find_shapes(const std::set<UsageShape>& shapes) {
    std::vector<RowValues> rows;
    rows.reserve(shapes.size());
    for (const UsageShape& shape : shapes)
        rows.push_back(values_of(shape));
    RowId id = 0;
    ShapeRow found;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::into(id));
        found.bind(statement);
    };
    query_rows(
        sql_,
        fmt::format("WITH asked(model, memory, capacity, compute, whole) AS "
                    "(VALUES {{rows}}) SELECT s.id, {} FROM asked a CROSS JOIN shapes s WHERE "
                    "s.model = a.model AND s.memory = a.memory AND "
                    "s.capacity = a.capacity AND s.compute = a.compute AND "
                    "s.whole = a.whole",
                    ShapeRow::kColumns),
        rows, {.bind = bind, .visit = [&] { shapes_[found.get()] = id; }});
}

void RecordWriter::add_shapes() {
    std::set<UsageShape> unknown;
    for (const Group& group : groups_) {
        for (const UsageRecord& record : group.inserted) {
            if (!shapes_.contains(shape_of(record))) unknown.insert(shape_of(record));
        }
    }
    find_shapes(unknown);
    std::erase_if(unknown, [&](const UsageShape& shape) { return shapes_.contains(shape); });
    std::vector<RowValues> rows;
    rows.reserve(unknown.size());
    for (const UsageShape& shape : unknown)
        rows.push_back(values_of(shape));
    execute_rows(sql_, "INSERT INTO shapes (model, memory, capacity, compute, whole) VALUES {rows}",
                 rows);
    find_shapes(unknown);
}

void RecordWriter::raise_last_hours() {
    std::map<RowId, std::int64_t> hours;
    for (const Group& group : groups_) {
        for (const UsageRecord& record : group.inserted) {
            Share& share = *share_of(record);
            if (share.last_hour >= group.hour) continue;
            share.last_hour = group.hour;
            hours[share.id] = group.hour;
        }
    }
    std::vector<RowValues> rows;
    rows.reserve(hours.size());
    for (const auto& [id, hour] : hours)
        rows.push_back({id, hour});
    execute_rows(sql_,
                 "WITH raised(id, hour) AS (VALUES {rows}) UPDATE gpu_shares "
                 "SET last_hour = raised.hour FROM raised WHERE gpu_shares.id = raised.id",
                 rows);
}

void RecordWriter::write_rows() {
    std::vector<RowValues> removed;
    std::vector<RowValues> inserted;
    std::set<RowValues> pending;
    for (const Group& group : groups_) {
        for (const UsageRecord& record : group.removed) {
            const RecordRow row = row_of(record);
            removed.push_back({row.ns, row.hour, row.share, row.from_second});
            sums_[{row.ns, row.hour, row.shape}].seconds -= record.time.seconds();
        }
        for (const UsageRecord& record : group.inserted) {
            const RecordRow row = row_of(record);
            inserted.push_back(
                {row.ns, row.hour, row.share, row.from_second, row.to_second, row.shape});
            pending.insert({row.hour, row.ns, row.share});
            Sum& sum = sums_[{row.ns, row.hour, row.shape}];
            sum.seconds += record.time.seconds();
            sum.first_second = std::min(sum.first_second, row.from_second);
            sum.last_second = std::max(sum.last_second, row.to_second);
        }
    }
    // First what goes: a new row can have the key of an old one.
    execute_rows(sql_,
                 "WITH old(ns, hour, share, since) AS (VALUES {rows}) DELETE FROM usage_records "
                 "WHERE (namespace_id, hour, share_id, from_second) IN "
                 "(SELECT ns, hour, share, since FROM old)",
                 removed);
    execute_rows(sql_,
                 "INSERT INTO usage_records (namespace_id, hour, share_id, from_second, to_second, "
                 "shape_id) VALUES {rows}",
                 inserted);
    execute_rows(sql_,
                 "INSERT INTO pending_roll_ups (hour, namespace_id, share_id) VALUES {rows} "
                 "ON CONFLICT DO NOTHING",
                 std::vector<RowValues>(pending.begin(), pending.end()));
}

void RecordWriter::write_sums() {
    std::vector<RowValues> rows;
    std::vector<RowValues> lowered;
    for (const auto& [key, sum] : sums_) {
        const auto& [ns, hour, shape] = key;
        rows.push_back({ns, hour, shape, sum.seconds, sum.first_second, sum.last_second});
        if (sum.seconds < 0) lowered.push_back({ns, hour, shape});
    }
    // The databases have no function of the same name for the lesser of two numbers.
    execute_rows(
        sql_,
        fmt::format("INSERT INTO hourly_usage AS h (namespace_id, hour, shape_id, seconds, "
                    "first_second, last_second) VALUES {{rows}} "
                    "ON CONFLICT (namespace_id, hour, shape_id) DO UPDATE SET "
                    "seconds = h.seconds + excluded.seconds, first_second = {}, last_second = {}",
                    "CASE WHEN excluded.first_second < h.first_second "
                    "THEN excluded.first_second ELSE h.first_second END",
                    "CASE WHEN excluded.last_second > h.last_second "
                    "THEN excluded.last_second ELSE h.last_second END"),
        rows);
    execute_rows(sql_,
                 "WITH lowered(ns, hour, shape) AS (VALUES {rows}) DELETE FROM hourly_usage "
                 "WHERE seconds = 0 AND (namespace_id, hour, shape_id) IN "
                 "(SELECT ns, hour, shape FROM lowered)",
                 lowered);
}

}  // namespace tessera

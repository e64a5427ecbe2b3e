#include "adapters/ledger/usage_query.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_ids.hpp"

namespace tessera {
namespace {

// Records have no other times.
Window within_all_times(Window window) {
    return intersect(window, {0, kEndOfTime});
}

// Prepared statements of one transaction, bound to members.
class UsageQuery {
  public:
    explicit UsageQuery(soci::session& sql);
    UsageQuery(const UsageQuery&) = delete;
    UsageQuery& operator=(const UsageQuery&) = delete;

    std::vector<UsageSum> find(RowId ns, Window window);

    RowIds& ids() { return ids_; }

  private:
    using Seconds = std::map<RowId, std::int64_t>;  // by shape

    // Whole hours.
    void add_hours(std::int64_t from_hour, std::int64_t to_hour, Seconds& seconds);
    // A window within one hour.
    void add_part(Window window, Seconds& seconds);

    RowIds ids_;
    // Bound.
    RowId ns_ = 0;
    std::int64_t from_ = 0;
    std::int64_t to_ = 0;
    std::int64_t hour_ = 0;
    RowId shape_ = 0;
    std::int64_t seconds_ = 0;
    soci::statement hours_;
    soci::statement part_;
};

UsageQuery::UsageQuery(soci::session& sql)
    : ids_(sql),
      // PostgreSQL's sum of 64 bits would be a decimal number.
      hours_((sql.prepare << "SELECT shape_id, CAST(SUM(seconds) AS BIGINT) FROM hourly_usage "
                             "WHERE namespace_id = :ns AND hour >= :since AND hour < :until "
                             "GROUP BY shape_id",
              soci::use(ns_, "ns"), soci::use(from_, "since"), soci::use(to_, "until"),
              soci::into(shape_), soci::into(seconds_))),
      part_((sql.prepare << "SELECT shape_id, CAST(SUM("
                            "CASE WHEN to_second > :until THEN :until ELSE to_second END - "
                            "CASE WHEN from_second < :since THEN :since ELSE from_second END) "
                            "AS BIGINT) FROM usage_records "
                            "WHERE namespace_id = :ns AND hour = :hour AND "
                            "from_second < :until AND to_second > :since GROUP BY shape_id",
             soci::use(ns_, "ns"), soci::use(hour_, "hour"), soci::use(from_, "since"),
             soci::use(to_, "until"), soci::into(shape_), soci::into(seconds_))) {}

void UsageQuery::add_hours(std::int64_t from_hour, std::int64_t to_hour, Seconds& seconds) {
    from_ = from_hour;
    to_ = to_hour;
    hours_.execute();
    while (hours_.fetch())
        seconds[shape_] += seconds_;
}

void UsageQuery::add_part(Window window, Seconds& seconds) {
    hour_ = hour_of(window.from_s);
    from_ = window.from_s - start_of(hour_);
    to_ = window.to_s - start_of(hour_);
    part_.execute();
    while (part_.fetch())
        seconds[shape_] += seconds_;
}

std::vector<UsageSum> UsageQuery::find(RowId ns, Window window) {
    window = within_all_times(window);
    if (window.seconds() == 0) return {};
    ns_ = ns;
    Seconds seconds;
    const std::int64_t first_whole = hour_of(window.from_s + kRollUpSeconds - 1);
    const std::int64_t end_whole = hour_of(window.to_s);
    const Window whole{start_of(first_whole), start_of(end_whole)};
    if (first_whole > end_whole) {
        add_part(window, seconds);
    } else {
        if (window.from_s < whole.from_s) add_part({window.from_s, whole.from_s}, seconds);
        if (first_whole < end_whole) add_hours(first_whole, end_whole, seconds);
        if (whole.to_s < window.to_s) add_part({whole.to_s, window.to_s}, seconds);
    }
    std::vector<UsageSum> sums;
    for (const auto& [shape, sum] : seconds)
        sums.push_back({ids_.shape(shape), sum});
    std::ranges::sort(sums);
    return sums;
}

}  // namespace

std::vector<UsageRecord> find_records(soci::session& sql, const std::string& ns, Window window) {
    RowIds ids(sql);
    const std::optional<RowId> ns_id = ids.find_namespace(ns);
    window = within_all_times(window);
    if (!ns_id || window.seconds() == 0) return {};
    RecordRow row;
    UsageRecord names;
    std::string pod;
    std::string gpu;
    const std::int64_t from_hour = hour_of(window.from_s);
    const std::int64_t last_hour = hour_of(window.to_s - 1);
    soci::statement find =
        (sql.prepare << "SELECT r.hour, r.from_second, r.to_second, r.shape_id, s.pod, "
                        "s.container, s.gpu, s.pod_name FROM usage_records r "
                        "JOIN gpu_shares s ON s.id = r.share_id "
                        "WHERE r.namespace_id = :ns AND r.hour >= :since AND r.hour <= :last",
         soci::use(*ns_id, "ns"), soci::use(from_hour, "since"), soci::use(last_hour, "last"),
         soci::into(row.hour), soci::into(row.from_second), soci::into(row.to_second),
         soci::into(row.shape), soci::into(pod), soci::into(names.container), soci::into(gpu),
         soci::into(names.name.name));
    std::vector<RecordRow> rows;
    std::vector<UsageRecord> records;
    find.execute();
    while (find.fetch()) {
        row.share = std::ssize(records);
        const Window time = intersect(row.time(), window);
        if (time.seconds() == 0) continue;
        UsageRecord& record = records.emplace_back(names);
        record.pod = PodUid(pod);
        record.gpu = GpuUuid(gpu);
        record.name.ns = ns;
        record.time = time;
        rows.push_back(row);
    }
    // Only now: SOCI's sessions of PostgreSQL have one query at a time.
    for (const RecordRow& found : rows) {
        UsageRecord& record = records.at(static_cast<std::size_t>(found.share));
        UsageRecord whole = record_of(found, ids.shape(found.shape));
        whole.pod = std::move(record.pod);
        whole.container = std::move(record.container);
        whole.gpu = std::move(record.gpu);
        whole.name = std::move(record.name);
        whole.time = record.time;
        record = std::move(whole);
    }
    std::ranges::sort(records);
    return records;
}

std::vector<UsageSum> find_usage(soci::session& sql, const std::string& ns, Window window) {
    UsageQuery query(sql);
    const std::optional<RowId> id = query.ids().find_namespace(ns);
    return id ? query.find(*id, window) : std::vector<UsageSum>{};
}

std::map<std::string, std::vector<UsageSum>> find_all_usage(soci::session& sql, Window window) {
    std::map<std::string, RowId> namespaces;
    std::string name;
    RowId id = 0;
    soci::statement find =
        (sql.prepare << "SELECT name, id FROM namespaces", soci::into(name), soci::into(id));
    find.execute();
    while (find.fetch())
        namespaces.emplace(name, id);
    UsageQuery query(sql);
    std::map<std::string, std::vector<UsageSum>> usage;
    for (const auto& [ns, ns_id] : namespaces) {
        std::vector<UsageSum> sums = query.find(ns_id, window);
        if (!sums.empty()) usage.emplace(ns, std::move(sums));
    }
    return usage;
}

}  // namespace tessera

#include "adapters/ledger/usage_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "adapters/ledger/record_rows.hpp"
#include "adapters/ledger/row_batch.hpp"

namespace tessera {
namespace {

// Records have no other times.
Window within_all_times(Window window) {
    return intersect(window, {0, kEndOfTime});
}

// Of a namespace, or of all of them if `ns` is null. Keys begin with the namespace, so each
// statement looks up the hours of one namespace after the other: SQLite joins in the order of CROSS
// JOIN. PostgreSQL's sums of 64-bit numbers would be decimal numbers.
class UsageQuery {
  public:
    UsageQuery(soci::session& sql, const std::string* ns) : sql_(sql), ns_(ns) {}
    UsageQuery(const UsageQuery&) = delete;
    UsageQuery& operator=(const UsageQuery&) = delete;

    std::map<std::string, std::vector<UsageSum>> find(Window window);

  private:
    // Hours [from_hour, to_hour), and the seconds [since, until) of each.
    struct Part {
        std::int64_t from_hour = 0;
        std::int64_t to_hour = 0;
        std::int64_t since = 0;
        std::int64_t until = kRollUpSeconds;
    };

    using Seconds = std::map<std::pair<std::string, UsageShape>, std::int64_t>;

    // From the sums whose records are all within the part.
    Seconds find_sums(const Part& part);
    // From the records of the namespaces that have other sums, too.
    Seconds find_records(const Part& part);
    Seconds find_seconds(const std::string& sums, const Part& part);
    // Of hourly_usage, in the hours of a part.
    [[nodiscard]] std::string rows_where(std::string_view condition) const;
    // A window within one hour.
    void add_part(Window window);
    void add(const Seconds& seconds);

    soci::session& sql_;
    const std::string* ns_;
    Seconds seconds_;
};

UsageQuery::Seconds UsageQuery::find_seconds(const std::string& sums, const Part& part) {
    Seconds found;
    std::string name;
    std::int64_t seconds = 0;
    ShapeRow shape;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::use(part.from_hour, "from_hour"));
        statement.exchange(soci::use(part.to_hour, "to_hour"));
        statement.exchange(soci::use(part.since, "since"));
        statement.exchange(soci::use(part.until, "until"));
        if (ns_ != nullptr) statement.exchange(soci::use(*ns_, "ns"));
        statement.exchange(soci::into(name));
        statement.exchange(soci::into(seconds));
        shape.bind(statement);
    };
    query(sql_,
          fmt::format("SELECT n.name, t.seconds, {} FROM ({}) t "
                      "JOIN namespaces n ON n.id = t.namespace_id {}",
                      ShapeRow::kColumns, sums, ShapeRow::kJoin),
          {.bind = bind, .visit = [&] { found[{name, shape.get()}] = seconds; }});
    return found;
}

std::string UsageQuery::rows_where(std::string_view condition) const {
    return fmt::format(
        "FROM namespaces m CROSS JOIN hourly_usage h WHERE h.namespace_id = m.id "
        "AND h.hour >= :from_hour AND h.hour < :to_hour AND {} {}",
        condition, ns_ == nullptr ? "" : "AND m.name = :ns");
}

UsageQuery::Seconds UsageQuery::find_sums(const Part& part) {
    return find_seconds(
        fmt::format("SELECT h.namespace_id, h.shape_id, CAST(SUM(h.seconds) AS BIGINT) AS seconds "
                    "{} GROUP BY h.namespace_id, h.shape_id",
                    rows_where("h.first_second >= :since AND h.last_second <= :until")),
        part);
}

UsageQuery::Seconds UsageQuery::find_records(const Part& part) {
    const std::string others = rows_where(
        "h.first_second < :until AND h.last_second > :since AND "
        "(h.first_second < :since OR h.last_second > :until)");
    constexpr std::string_view kSeconds =
        "CASE WHEN r.to_second > :until THEN :until ELSE r.to_second END - "
        "CASE WHEN r.from_second < :since THEN :since ELSE r.from_second END";
    return find_seconds(
        fmt::format("SELECT r.namespace_id, r.shape_id, CAST(SUM({}) AS BIGINT) AS seconds "
                    "FROM (SELECT DISTINCT h.namespace_id, h.hour {}) p CROSS JOIN usage_records r "
                    "WHERE r.namespace_id = p.namespace_id AND r.hour = p.hour AND "
                    "r.from_second < :until AND r.to_second > :since "
                    "GROUP BY r.namespace_id, r.shape_id",
                    kSeconds, others),
        part);
}

void UsageQuery::add_part(Window window) {
    const std::int64_t hour = hour_of(window.from_s);
    const Part part{.from_hour = hour,
                    .to_hour = hour + 1,
                    .since = window.from_s - start_of(hour),
                    .until = window.to_s - start_of(hour)};
    Seconds seconds = find_sums(part);
    // Both have the same seconds of a shape that they have in common.
    seconds.merge(find_records(part));
    add(seconds);
}

void UsageQuery::add(const Seconds& seconds) {
    for (const auto& [key, sum] : seconds)
        seconds_[key] += sum;
}

std::map<std::string, std::vector<UsageSum>> UsageQuery::find(Window window) {
    window = within_all_times(window);
    if (window.seconds() == 0) return {};
    const std::int64_t first_whole = hour_of(window.from_s + kRollUpSeconds - 1);
    const std::int64_t end_whole = hour_of(window.to_s);
    const Window whole{start_of(first_whole), start_of(end_whole)};
    if (first_whole > end_whole) {
        add_part(window);
    } else {
        if (window.from_s < whole.from_s) add_part({window.from_s, whole.from_s});
        if (first_whole < end_whole)
            add(find_sums({.from_hour = first_whole, .to_hour = end_whole}));
        if (whole.to_s < window.to_s) add_part({whole.to_s, window.to_s});
    }
    std::map<std::string, std::vector<UsageSum>> usage;
    for (const auto& [key, seconds] : seconds_)
        usage[key.first].push_back({key.second, seconds});
    return usage;
}

}  // namespace

std::vector<UsageRecord> find_records(soci::session& sql, const std::string& ns, Window window) {
    window = within_all_times(window);
    if (window.seconds() == 0) return {};
    RecordRow row;
    UsageRecord record;
    record.name.ns = ns;
    std::string pod;
    std::string gpu;
    ShapeRow shape;
    const std::int64_t from_hour = hour_of(window.from_s);
    const std::int64_t last_hour = hour_of(window.to_s - 1);
    std::vector<UsageRecord> records;
    const auto bind = [&](soci::statement& statement) {
        statement.exchange(soci::use(ns, "ns"));
        statement.exchange(soci::use(from_hour, "since"));
        statement.exchange(soci::use(last_hour, "last"));
        statement.exchange(soci::into(row.hour));
        statement.exchange(soci::into(row.from_second));
        statement.exchange(soci::into(row.to_second));
        statement.exchange(soci::into(pod));
        statement.exchange(soci::into(record.container));
        statement.exchange(soci::into(gpu));
        statement.exchange(soci::into(record.name.name));
        shape.bind(statement);
    };
    const auto visit = [&] {
        record.time = intersect(row.time(), window);
        if (record.time.seconds() == 0) return;
        record.pod = PodUid(pod);
        record.gpu = GpuUuid(gpu);
        set_shape(record, shape.get());
        records.push_back(record);
    };
    query(sql,
          fmt::format("SELECT r.hour, r.from_second, r.to_second, g.pod, g.container, g.gpu, "
                      "g.pod_name, {} FROM namespaces n "
                      "JOIN usage_records r ON r.namespace_id = n.id "
                      "JOIN gpu_shares g ON g.id = r.share_id {} "
                      "WHERE n.name = :ns AND r.hour >= :since AND r.hour <= :last",
                      ShapeRow::kColumns, ShapeRow::kJoin),
          {.bind = bind, .visit = visit});
    std::ranges::sort(records);
    return records;
}

std::vector<UsageSum> find_usage(soci::session& sql, const std::string& ns, Window window) {
    auto usage = UsageQuery(sql, &ns).find(window);
    return std::move(usage[ns]);
}

std::map<std::string, std::vector<UsageSum>> find_all_usage(soci::session& sql, Window window) {
    return UsageQuery(sql, nullptr).find(window);
}

}  // namespace tessera

#include "adapters/ledger/schema.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {
namespace {

// {id} and {in_key_order} become those of the dialect. There are no foreign keys: PostgreSQL would
// look up each of them for each record. `hour` is the number of the hour since 1970, and
// from_second and to_second are seconds within it.
constexpr auto kVersion1 = std::to_array<std::string_view>({
    "CREATE TABLE namespaces (id {id}, name TEXT NOT NULL UNIQUE)",

    "CREATE TABLE shapes (id {id}, model TEXT NOT NULL, memory BIGINT NOT NULL, "
    "capacity BIGINT NOT NULL, compute INTEGER NOT NULL, whole INTEGER NOT NULL, "
    "UNIQUE (model, memory, capacity, compute, whole))",

    // A container's share of a GPU. last_hour: no record is of a later hour.
    "CREATE TABLE gpu_shares (id {id}, pod TEXT NOT NULL, container TEXT NOT NULL, "
    "gpu TEXT NOT NULL, namespace_id BIGINT NOT NULL, pod_name TEXT NOT NULL, "
    "last_hour BIGINT NOT NULL, UNIQUE (pod, container, gpu, namespace_id, pod_name))",

    // One index for all: add looks up one share in an hour, and queries a namespace's hours.
    "CREATE TABLE usage_records (namespace_id BIGINT NOT NULL, hour BIGINT NOT NULL, "
    "share_id BIGINT NOT NULL, from_second INTEGER NOT NULL, to_second INTEGER NOT NULL, "
    "shape_id BIGINT NOT NULL, PRIMARY KEY (namespace_id, hour, share_id, from_second)) "
    "{in_key_order}",

    // The sums of usage_records. All their records are within [first_second, last_second). A
    // removed record leaves both as they are.
    "CREATE TABLE hourly_usage (namespace_id BIGINT NOT NULL, hour BIGINT NOT NULL, "
    "shape_id BIGINT NOT NULL, seconds BIGINT NOT NULL, first_second INTEGER NOT NULL, "
    "last_second INTEGER NOT NULL, PRIMARY KEY (namespace_id, hour, shape_id)) {in_key_order}",

    // The shares with records of an hour that were added after its last roll-up.
    "CREATE TABLE pending_roll_ups (hour BIGINT NOT NULL, namespace_id BIGINT NOT NULL, "
    "share_id BIGINT NOT NULL, PRIMARY KEY (hour, namespace_id, share_id)) {in_key_order}",

    // One row: the hours before it were removed, and no record of them is stored again.
    "CREATE TABLE removals (before_hour BIGINT NOT NULL)",
    "INSERT INTO removals (before_hour) VALUES (0)",

    // What is kept of the budgets of namespaces, as text. last_seen: unix seconds.
    "CREATE TABLE budgets (namespace TEXT NOT NULL PRIMARY KEY, uid TEXT NOT NULL, "
    "last_seen BIGINT NOT NULL, kept TEXT NOT NULL)",
});

// In order; never change or remove one. A new one is appended, and its number is the version.
constexpr auto kMigrations =
    std::to_array<std::span<const std::string_view>>({std::span(kVersion1)});
constexpr auto kNewest = static_cast<std::int64_t>(kMigrations.size());

std::int64_t newest_version(soci::session& sql) {
    std::int64_t version = 0;
    sql << "SELECT COALESCE(MAX(version), 0) FROM tessera_schema", soci::into(version);
    return version;
}

tl::unexpected<Error> is_newer(std::int64_t version) {
    return fail(Code::unsupported,
                fmt::format("the ledger has schema {}, and this program knows schemas up to {}; "
                            "use the newer Tessera that wrote it",
                            version, kNewest));
}

// 0 if there is no schema.
std::int64_t version_of(const SqlDialect& dialect, soci::session& sql) {
    const std::string table = "tessera_schema";
    std::int64_t tables = 0;
    sql << std::string(dialect.count_tables), soci::use(table, "name"), soci::into(tables);
    return tables == 0 ? 0 : newest_version(sql);
}

void migrate_to(std::int64_t version, const SqlDialect& dialect, soci::session& sql) {
    if (version == 1) sql << "CREATE TABLE tessera_schema (version BIGINT NOT NULL)";
    for (const std::string_view statement : kMigrations.at(static_cast<std::size_t>(version - 1))) {
        sql << fmt::format(fmt::runtime(statement), fmt::arg("id", dialect.id_column),
                           fmt::arg("in_key_order", dialect.in_key_order));
    }
    sql << "DELETE FROM tessera_schema";
    sql << "INSERT INTO tessera_schema (version) VALUES (:version)", soci::use(version, "version");
}

}  // namespace

Result<> migrate(const SqlDialect& dialect, Connection& connection) {
    std::int64_t version = 0;
    do {
        TRY_VOID(connection.write([&](soci::session& sql) -> Result<> {
            version = version_of(dialect, sql);
            if (version > kNewest) return is_newer(version);
            if (version < kNewest) migrate_to(++version, dialect, sql);
            return {};
        }));
    } while (version < kNewest);
    return {};
}

Result<> check_version(soci::session& sql) {
    const std::int64_t version = newest_version(sql);
    if (version > kNewest) return is_newer(version);
    return {};
}

}  // namespace tessera

#include "adapters/ledger/postgresql_database.hpp"

#include <fmt/format.h>
#include <soci/postgresql/soci-postgresql.h>

#include <algorithm>
#include <array>

#include "adapters/ledger/postgresql/url.hpp"

namespace tessera {
namespace {

constexpr SqlDialect kDialect{
    .begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    .begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    // Any number that no other program of this database uses: "Tess".
    .lock = "SELECT pg_advisory_xact_lock(1415934835)",
    .count_tables =
        "SELECT COUNT(*) FROM pg_tables "
        "WHERE schemaname = current_schema() AND tablename = :name",
    .id_column = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .in_key_order = "",
};

// A transaction of the store takes milliseconds to a few seconds. The second timeout ends a
// transaction of a machine that disappeared, which would hold the lock. The statements are written
// for nested loops over indices, which are quick with and without statistics of the tables.
constexpr auto kSettings = std::to_array<std::string_view>(
    {"SET statement_timeout = 60000", "SET idle_in_transaction_session_timeout = 60000",
     "SET synchronous_commit = on", "SET client_min_messages = warning",
     "SET enable_hashjoin = off", "SET enable_mergejoin = off", "SET jit = off"});

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

// Blank if the error is libpq's own, such as that of a lost connection.
std::string state_of(const soci::soci_error& error) {
    const auto* const server = dynamic_cast<const soci::postgresql_soci_error*>(&error);
    return server == nullptr ? "" : server->sqlstate();
}

bool is_blank(std::string_view state) {
    return state.find_first_not_of(' ') == std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<PostgresqlDatabase>> PostgresqlDatabase::of(const std::string& url,
                                                                   LedgerLimits limits) {
    TRY(std::string with_timeouts, read_postgresql_url(url));
    return std::make_unique<PostgresqlDatabase>(std::move(with_timeouts), limits);
}

const SqlDialect& PostgresqlDatabase::dialect() const {
    return kDialect;
}

Result<std::unique_ptr<soci::session>> PostgresqlDatabase::connect() const {
    auto session = std::make_unique<soci::session>(soci::postgresql, url_);
    const auto watched = watch(*session);
    *session << fmt::format("SET lock_timeout = {}", limits().lock.count());
    for (const std::string_view setting : kSettings)
        *session << std::string(setting);
    return session;
}

bool PostgresqlDatabase::is_lost(const soci::soci_error& error) const {
    const std::string state = state_of(error);
    return is_blank(state) || starts_with_any(state, {"08", "57P"});
}

std::optional<Watchdog::Watch> PostgresqlDatabase::watch(soci::session& session) const {
    // Sessions are of this class: SOCI does not export its type, so it cannot be checked.
    const auto* const backend =
        static_cast<const soci::postgresql_session_backend*>(session.get_backend());
    const int socket = ::PQsocket(backend->conn_);
    if (socket < 0) return std::nullopt;
    return watchdog_.watch(socket);
}

// The codes: https://www.postgresql.org/docs/15/errcodes-appendix.html
Error PostgresqlDatabase::explain(const soci::soci_error& error) const {
    const std::string state = state_of(error);
    const std::string why = one_line(error);
    if (is_lost(error))
        return {Code::unavailable, fmt::format("PostgreSQL does not answer: {}", why)};
    if (starts_with_any(state, {"57014", "55P03", "40", "25P03"})) {
        return {Code::unavailable,
                fmt::format("PostgreSQL took too long, or is locked by another program: {}", why)};
    }
    if (state.starts_with("53"))
        return {Code::unavailable, fmt::format("PostgreSQL lacks disk or memory: {}", why)};
    // A standby answers BEGIN with the second.
    if (starts_with_any(state, {"25006", "0A000"})) {
        return {Code::unavailable,
                fmt::format("PostgreSQL does not write, as a standby: {}; write the primary's "
                            "address, or wait until this server is the primary",
                            why)};
    }
    if (state.starts_with("42501")) {
        return {Code::permission_denied,
                fmt::format("PostgreSQL does not allow this: {}; check the ledger's user", why)};
    }
    if (starts_with_any(state, {"XX001", "XX002"})) {
        return {Code::corrupt,
                fmt::format("PostgreSQL's data is damaged: {}; restore a backup", why)};
    }
    return {Code::internal, fmt::format("PostgreSQL: {} (SQLSTATE {})", why, state)};
}

}  // namespace tessera

#include "adapters/ledger/sqlite_database.hpp"

#include <fmt/format.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace tessera {
namespace {

// "Tess". SQLite stores it in the header of the file (https://www.sqlite.org/fileformat.html).
constexpr std::int32_t kApplicationId = 0x54657373;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr int kHeaderBytes = 100;
constexpr std::size_t kApplicationIdOffset = 68;

constexpr SqlDialect kDialect{
    .begin_read = "BEGIN",
    .begin_write = "BEGIN IMMEDIATE",
    .lock = "",
    .count_tables = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = :name",
    .id_column = "INTEGER PRIMARY KEY",
    .in_key_order = "WITHOUT ROWID",
};

std::int32_t big_endian(const char* bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int32_t>(value);
}

using Header = std::array<char, kHeaderBytes>;

// SQLite's functions for files instead of SQLite's connections, which would write to some files
// that the ledger cannot use. No other function may open the file: if a process closes any
// descriptor of it, the process loses all locks that SQLite has on it, unless SQLite does it
// (https://www.sqlite.org/howtocorrupt.html, 2.2). Returns a result code of SQLite.
int read_header(const std::string& path, Header& header) {
    sqlite_api::sqlite3_vfs* const vfs = sqlite_api::sqlite3_vfs_find(nullptr);
    if (vfs == nullptr) return SQLITE_ERROR;
    const std::unique_ptr<void, void (*)(void*)> storage(sqlite_api::sqlite3_malloc(vfs->szOsFile),
                                                         &sqlite_api::sqlite3_free);
    if (storage == nullptr) return SQLITE_NOMEM;
    auto* const file = static_cast<sqlite_api::sqlite3_file*>(storage.get());
    file->pMethods = nullptr;
    const auto* const name = sqlite_api::sqlite3_create_filename(path.c_str(), "", "", 0, nullptr);
    if (name == nullptr) return SQLITE_NOMEM;
    int result = vfs->xOpen(vfs, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr);
    if (result == SQLITE_OK) result = file->pMethods->xRead(file, header.data(), kHeaderBytes, 0);
    if (file->pMethods != nullptr) file->pMethods->xClose(file);
    sqlite_api::sqlite3_free_filename(name);
    return result == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : result;
}

Error damaged(const std::filesystem::path& file, std::string_view why) {
    return {Code::corrupt,
            fmt::format("the ledger {} is damaged: {}; it is not changed: move it "
                        "away with its -wal and -shm files, and restore a backup, or "
                        "recover it with sqlite3's command .recover",
                        file.string(), why)};
}

}  // namespace

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& file,
                                                             LedgerLimits limits) {
    auto database = std::make_unique<SqliteDatabase>(file, limits);
    try {
        TRY(const bool exists, database->check_file());
        if (exists) {
            TRY_VOID(database->check_pages());
        } else {
            TRY_VOID(database->create());
        }
    } catch (const soci::soci_error& error) {
        return fail(database->explain(error));
    }
    return database;
}

const SqlDialect& SqliteDatabase::dialect() const {
    return kDialect;
}

// SQLite would take a missing or empty file for a new database, and remove the newest records,
// which are in the file -wal.
Result<bool> SqliteDatabase::no_file() const {
    std::error_code error;
    const auto target = std::filesystem::canonical(file_, error);
    const std::string log = (error ? file_ : target).string() + "-wal";
    const auto bytes = std::filesystem::file_size(log, error);
    if (error || bytes == 0) return false;
    return fail(Code::corrupt,
                fmt::format("the ledger {} is missing or empty, but {} has records of it; nothing "
                            "is changed: put the file back that belongs to it, or move {} away to "
                            "begin an empty ledger",
                            file_.string(), log, log));
}

Result<bool> SqliteDatabase::check_file() const {
    std::error_code error;
    const auto status = std::filesystem::status(file_, error);
    if (status.type() == std::filesystem::file_type::not_found) return no_file();
    if (!std::filesystem::is_regular_file(status)) {
        return fail(
            Code::invalid_argument,
            fmt::format("{} is not a file; write the path of the ledger's file", file_.string()));
    }
    if (::access(file_.c_str(), R_OK) != 0) {
        return fail(Code::permission_denied,
                    fmt::format("the ledger {} cannot be read: {}; make it readable and writable",
                                file_.string(), std::strerror(errno)));
    }
    // SQLite's own function says that a file of one byte is empty.
    const auto size = std::filesystem::file_size(file_, error);
    if (!error && size == 0) return no_file();
    Header header{};
    if (const int code = read_header(std::filesystem::absolute(file_).string(), header);
        code != SQLITE_OK) {
        return fail(Code::unavailable,
                    fmt::format("the ledger {} cannot be read: {}; check the disk", file_.string(),
                                sqlite_api::sqlite3_errstr(code)));
    }
    if (size < kHeaderBytes || std::string_view(header.data(), kMagic.size()) != kMagic) {
        return fail(Code::corrupt, fmt::format("{} is no SQLite database; it is not changed: "
                                               "restore a backup or write another path",
                                               file_.string()));
    }
    if (big_endian(header.data() + kApplicationIdOffset) != kApplicationId) {
        return fail(Code::invalid_argument, fmt::format("{} is a database of another program; it "
                                                        "is not changed: write another path",
                                                        file_.string()));
    }
    if (::access(file_.c_str(), W_OK) != 0) {
        return fail(Code::permission_denied,
                    fmt::format("the ledger {} cannot be written: {}; make it and its folder "
                                "writable for this program",
                                file_.string(), std::strerror(errno)));
    }
    return true;
}

Result<std::unique_ptr<soci::session>> SqliteDatabase::session() const {
    const std::string path = std::filesystem::absolute(file_).string();
    if (path.find('"') != std::string::npos) {
        return fail(Code::invalid_argument,
                    fmt::format("{} has a quotation mark; write another path", path));
    }
    auto session = std::make_unique<soci::session>(soci::sqlite3, fmt::format("db=\"{}\"", path));
    // Not as parameters of the session: SOCI leaks the connection if one of them fails.
    *session << fmt::format("PRAGMA busy_timeout = {}", limits().lock.count());
    *session << "PRAGMA synchronous = FULL";
    // What is read often, such as the newest hours and the shares, fits into 32 MiB.
    *session << "PRAGMA cache_size = -32768";
    return session;
}

// The id is written before anything else: a file without it is no ledger. Another process may do
// the same at the same time.
Result<> SqliteDatabase::create() const {
    TRY(const auto made, session());
    *made << fmt::format("PRAGMA application_id = {}", kApplicationId);
    return {};
}

Result<> SqliteDatabase::check_pages() const {
    TRY(const auto checked, session());
    std::string answer;
    *checked << "PRAGMA integrity_check(1)", soci::into(answer);
    if (answer != "ok") return fail(damaged(file_, answer.substr(answer.rfind('\n') + 1)));
    return {};
}

Result<std::unique_ptr<soci::session>> SqliteDatabase::connect() const {
    TRY(const bool exists, check_file());
    if (!exists) {
        return fail(Code::unavailable,
                    fmt::format("the ledger {} was removed; restore it", file_.string()));
    }
    TRY(auto connected, session());
    std::string mode;
    *connected << "PRAGMA journal_mode = WAL", soci::into(mode);
    if (mode != "wal") {
        return fail(Code::unavailable,
                    fmt::format("the file system of {} has no shared memory, which SQLite needs; "
                                "use a local file system",
                                file_.string()));
    }
    std::int64_t pages = 0;
    if (limits().pages > 0)
        *connected << fmt::format("PRAGMA max_page_count = {}", limits().pages), soci::into(pages);
    return connected;
}

std::uint64_t SqliteDatabase::identity() const {
    struct ::stat status{};
    return ::stat(file_.c_str(), &status) == 0 ? status.st_ino : 0;
}

Error SqliteDatabase::explain(const soci::soci_error& error) const {
    const auto* const sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
    const std::string name = file_.string();
    const std::string why = one_line(error);
    // The lower byte is the kind of the error.
    switch (sqlite == nullptr ? SQLITE_CANTOPEN : sqlite->result() & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {Code::unavailable,
                    fmt::format("the ledger {} is locked by another program: {}", name, why)};
        case SQLITE_FULL:
            return {Code::unavailable,
                    fmt::format("the disk of the ledger {} is full: {}; free space", name, why)};
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
        case SQLITE_PROTOCOL:
        case SQLITE_NOMEM:
            return {Code::unavailable,
                    fmt::format("the ledger {} cannot be read or written: {}; check the path, its "
                                "folder and the disk",
                                name, why)};
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return {Code::permission_denied,
                    fmt::format("the ledger {} cannot be written: {}; make it and its folder "
                                "writable for this program",
                                name, why)};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return damaged(file_, why);
        default:
            return {Code::internal, fmt::format("the ledger {}: {}", name, why)};
    }
}

}  // namespace tessera

#include "adapters/ledger/postgresql/url.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

using Options = std::unique_ptr<PQconninfoOption, decltype(&::PQconninfoFree)>;

// libpq's own time for a dead peer can be hours.
constexpr auto kTimeouts =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"connect_timeout", "10"},
                                                                  {"tcp_user_timeout", "30000"},
                                                                  {"keepalives_idle", "10"},
                                                                  {"keepalives_interval", "5"},
                                                                  {"keepalives_count", "3"}});

tl::unexpected<Error> unreadable() {
    return fail(Code::invalid_argument,
                "the ledger's URL cannot be read; write "
                "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and percent-encode the password, "
                "such as %40 for @ and %2F for /");
}

bool is_number(std::string_view text, std::int64_t least, std::int64_t most) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number >= least &&
           number <= most;
}

// Of a list with commas.
bool is_each(std::string_view list, bool (*is_right)(std::string_view)) {
    while (true) {
        const std::size_t comma = list.find(',');
        if (!is_right(list.substr(0, comma))) return false;
        if (comma == std::string_view::npos) return true;
        list.remove_prefix(comma + 1);
    }
}

// The user and the password end at the first @. Another one, or one after a /, shows that the
// password has such a character.
bool has_one_user(std::string_view url) {
    const std::string_view head = url.substr(0, url.find('?'));
    const std::string_view rest = head.substr(head.find("//") + 2);
    const std::size_t at = rest.find('@');
    return at == std::string_view::npos ||
           (rest.find('@', at + 1) == std::string_view::npos && at < rest.find('/'));
}

bool is_right(std::string_view keyword, std::string_view value) {
    // A host that begins with @ is a socket.
    if (keyword == "host")
        return is_each(value, [](auto host) { return host.find('@', 1) == host.npos; });
    if (keyword == "port") {
        return is_each(value, [](auto port) { return port.empty() || is_number(port, 1, 65'535); });
    }
    // 0 would wait for ever.
    if (keyword == "connect_timeout") return is_number(value, 1, 600);
    return true;
}

std::optional<std::string_view> value_of(const PQconninfoOption& option) {
    if (option.val != nullptr) return option.val;
    const auto* const timeout =
        std::ranges::find(kTimeouts, std::string_view(option.keyword),
                          &std::pair<std::string_view, std::string_view>::first);
    if (timeout == kTimeouts.end()) return std::nullopt;
    return timeout->second;
}

std::string encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

}  // namespace

Result<std::string> read_postgresql_url(const std::string& text) {
    if (!text.starts_with("postgresql://") && !text.starts_with("postgres://")) {
        return fail(Code::invalid_argument,
                    "the URL of the ledger is none of PostgreSQL; write such as "
                    "postgresql://USER@HOST/DATABASE");
    }
    if (text.find('\0') != std::string::npos || !has_one_user(text)) return unreadable();
    char* why = nullptr;
    const Options options(::PQconninfoParse(text.c_str(), &why), &::PQconninfoFree);
    ::PQfreemem(why);
    if (options == nullptr) return unreadable();
    std::string url;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        const auto value = value_of(*option);
        if (!value) continue;
        if (!is_right(option->keyword, *value)) return unreadable();
        url += fmt::format("{}{}={}", url.empty() ? "postgresql://?" : "&", option->keyword,
                           encoded(*value));
    }
    return url;
}

}  // namespace tessera

#include "wire/resize_json.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/dns_name.hpp"
#include "domain/request/dialect.hpp"
#include "wire/json.hpp"

namespace tessera {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostContainers = 64;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

// More than any of them can be: the rule says what is right (domain/allocation/resize.hpp).
constexpr std::int64_t kMostPercent = 1'000'000;

constexpr std::array<std::string_view, 3> kOfWish = {"version", "id", "containers"};
constexpr std::array<std::string_view, 4> kOfContainer = {"name", "memory", "cores",
                                                          "cores_ceiling"};

tl::unexpected<Error> bad(std::string_view member, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("tessera.dev/resize: {}: {}", member, why));
}

// A mistyped name would otherwise leave its amount as it is, in silence, as would the second of
// two.
Result<> check_names(JsonValue object, std::span<const std::string_view> known) {
    std::set<std::string_view> seen;
    for (const auto& [name, value] : object.members()) {
        if (!seen.insert(name).second) return bad(name.substr(0, 32), "stands there twice");
        if (std::ranges::find(known, name) == known.end()) {
            return bad(name.substr(0, 32),
                       fmt::format("is unknown; there is {}", fmt::join(known, ", ")));
        }
    }
    return {};
}

Result<std::optional<Bytes>> read_memory(JsonValue json) {
    if (!json.present()) return std::optional<Bytes>{};
    const auto number = json.integer();
    const auto text = json.text();
    if (!number && !text) return bad("memory", "is no quantity; write one such as \"6Gi\"");
    const auto amount =
        number ? Result<std::int64_t>(*number) : parse_whole_quantity(text->substr(0, 64));
    if (!amount) return bad("memory", amount.error().text);
    if (*amount < 0) return bad("memory", "is below zero");
    if (*amount > kMostBytes) return bad("memory", "is more than any card has");
    return std::optional(Bytes{*amount});
}

Result<std::optional<Percent>> read_percent(JsonValue object, std::string_view member) {
    const JsonValue json = object[member];
    if (!json.present()) return std::optional<Percent>{};
    const auto number = json.integer();
    if (!number || *number < -kMostPercent || *number > kMostPercent)
        return bad(member, "is no percentage of one card; write a number up to 100");
    return std::optional(Percent{static_cast<int>(*number)});
}

Result<ResizeWish::Container> read_container(JsonValue json) {
    if (!json.is_object()) return bad("containers", "is no list of objects");
    TRY_VOID(check_names(json, kOfContainer));
    ResizeWish::Container out;
    out.name = json["name"].text_or("");
    if (out.name.size() > 63 || !is_dns_name(out.name))
        return bad("name", "is no name of a container");
    TRY(out.memory, read_memory(json["memory"]));
    TRY(out.cores, read_percent(json, "cores"));
    TRY(out.ceiling, read_percent(json, "cores_ceiling"));
    return out;
}

// Of a text of any length, which need not stand twice in a pod's annotations.
std::string digest(std::string_view text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());
    std::string hex;
    for (const unsigned char byte : bytes)
        hex += fmt::format("{:02x}", byte);
    return hex;
}

// Those that a refusal may have; what another code says is for us.
constexpr std::array kCodes = {Code::invalid_argument, Code::not_found, Code::conflict,
                               Code::unavailable, Code::unsupported};

}  // namespace

Result<ResizeWish> read_resize_wish(std::string_view text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("tessera.dev/resize"));
    const JsonValue root = document->root();
    const auto version = root["version"].integer();
    if (!version || *version < 1) return bad("version", "missing; write 1");
    if (*version > kVersion) {
        return fail(Code::unsupported,
                    fmt::format("tessera.dev/resize: version {} is newer than {}; upgrade Tessera",
                                *version, kVersion));
    }
    TRY_VOID(check_names(root, kOfWish));
    if (root["id"].present() && !root["id"].text()) return bad("id", "is no text");
    ResizeWish wish;
    for (const JsonValue json : root["containers"].elements()) {
        if (wish.containers.size() == kMostContainers) return bad("containers", "too many");
        TRY(auto container, read_container(json));
        if (std::ranges::find(wish.containers, container.name, &ResizeWish::Container::name) !=
            wish.containers.end())
            return bad("containers", fmt::format("{} stands there twice", container.name));
        wish.containers.push_back(std::move(container));
    }
    if (wish.containers.empty()) return bad("containers", "missing");
    return wish;
}

std::string write_resize_wish(const ResizeWish& wish, std::string_view id) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kVersion);
        w.member("id", id);
        w.array("containers", [&] {
            for (const ResizeWish::Container& container : wish.containers) {
                w.object([&] {
                    w.member("name", container.name);
                    if (container.memory) w.member("memory", container.memory->count);
                    if (container.cores) w.member("cores", container.cores->value);
                    if (container.ceiling) w.member("cores_ceiling", container.ceiling->value);
                });
            }
        });
    });
    return w.take();
}

std::string write_resize_refusal(std::string_view wish, const Error& reason) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kVersion);
        w.member("wish_sha256", digest(wish));
        w.member("code", code_name(reason.code));
        w.member("reason", reason.text);
    });
    return w.take();
}

bool is_refusal_of(std::string_view refusal, std::string_view wish) {
    if (refusal.empty()) return false;
    const auto document = JsonDocument::parse(refusal);
    return document && document->root()["wish_sha256"].text() == digest(wish);
}

Error read_resize_refusal(std::string_view refusal) {
    const auto document = JsonDocument::parse(refusal);
    const JsonValue root = document ? document->root() : JsonValue();
    const std::string name = root["code"].text_or("");
    const auto code = std::ranges::find(kCodes, name, code_name);
    return {code == kCodes.end() ? Code::invalid_argument : *code,
            root["reason"].text_or("tessera.dev/resize-refused gives no reason")};
}

}  // namespace tessera

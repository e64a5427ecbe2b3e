#include "wire/tessera/resize_json.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/dns_name.hpp"
#include "domain/dialect/native.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostContainers = 64;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

// More than a valid amount can be: domain/allocation/resize.hpp decides what is valid.
constexpr std::int64_t kMostPercent = 1'000'000;

constexpr std::array<std::string_view, 3> kRequestFields = {"version", "id", "containers"};
constexpr std::array<std::string_view, 4> kOfContainer = {"name", "memory", "cores", "cores_limit"};

tl::unexpected<Error> bad(std::string_view member, std::string_view why) {
    return fail(Code::invalid_argument,
                fmt::format("tessera.dev/resize-request: {}: {}", member, why));
}

// Without this check, a mistyped name, or the second of two, would silently leave its amount
// unchanged.
Result<> check_names(JsonValue object, std::span<const std::string_view> known) {
    std::set<std::string_view> seen;
    for (const auto& [name, value] : object.members()) {
        if (!seen.insert(name).second) return bad(name.substr(0, 32), "appears twice");
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
    if (!number && !text) return bad("memory", "is not a quantity; write one such as \"6Gi\"");
    const auto amount =
        number ? Result<std::int64_t>(*number) : parse_whole_quantity(text->substr(0, 64));
    if (!amount) return bad("memory", amount.error().text);
    if (*amount < 0) return bad("memory", "is below zero");
    if (*amount > kMostBytes) return bad("memory", "is more than any GPU has");
    return std::optional(Bytes{*amount});
}

Result<std::optional<Percent>> read_percent(JsonValue object, std::string_view member) {
    const JsonValue json = object[member];
    if (!json.present()) return std::optional<Percent>{};
    const auto number = json.integer();
    if (!number || *number < -kMostPercent || *number > kMostPercent)
        return bad(member, "is not a percentage of one GPU; write a number up to 100");
    return std::optional(Percent{static_cast<int>(*number)});
}

Result<RequestedShares::Container> read_container(JsonValue json) {
    if (!json.is_object()) return bad("containers", "is not a list of objects");
    TRY_VOID(check_names(json, kOfContainer));
    RequestedShares::Container out;
    out.name = json["name"].text_or("");
    if (out.name.size() > 63 || !is_dns_name(out.name))
        return bad("name", "is not a valid container name");
    TRY(out.memory, read_memory(json["memory"]));
    TRY(out.cores, read_percent(json, "cores"));
    TRY(out.cores_limit, read_percent(json, "cores_limit"));
    return out;
}

// Stands for a text of any length, which need not appear twice in a pod's annotations.
std::string digest(std::string_view text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());
    std::string hex;
    for (const unsigned char byte : bytes)
        hex += fmt::format("{:02x}", byte);
    return hex;
}

// The codes that a refusal may have; other codes are internal.
constexpr std::array kCodes = {Code::invalid_argument, Code::not_found, Code::conflict,
                               Code::unavailable, Code::unsupported};

}  // namespace

Result<RequestedShares> read_resize_request(std::string_view text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("tessera.dev/resize-request"));
    const JsonValue root = document->root();
    const auto version = root["version"].integer();
    if (!version || *version < 1) return bad("version", "missing; write 1");
    if (*version > kVersion) {
        return fail(
            Code::unsupported,
            fmt::format("tessera.dev/resize-request: version {} is newer than {}; upgrade Tessera",
                        *version, kVersion));
    }
    TRY_VOID(check_names(root, kRequestFields));
    if (root["id"].present() && !root["id"].text()) return bad("id", "is not a text");
    RequestedShares requested;
    for (const JsonValue json : root["containers"].elements()) {
        if (requested.containers.size() == kMostContainers) return bad("containers", "too many");
        TRY(auto container, read_container(json));
        if (std::ranges::find(requested.containers, container.name,
                              &RequestedShares::Container::name) != requested.containers.end())
            return bad("containers", fmt::format("{} appears twice", container.name));
        requested.containers.push_back(std::move(container));
    }
    if (requested.containers.empty()) return bad("containers", "missing");
    return requested;
}

std::string write_resize_request(const RequestedShares& requested, std::string_view id) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kVersion);
        w.member("id", id);
        w.array("containers", [&] {
            for (const RequestedShares::Container& container : requested.containers) {
                w.object([&] {
                    w.member("name", container.name);
                    if (container.memory) w.member("memory", container.memory->count);
                    if (container.cores) w.member("cores", container.cores->value);
                    if (container.cores_limit)
                        w.member("cores_limit", container.cores_limit->value);
                });
            }
        });
    });
    return w.take();
}

std::string write_resize_refusal(std::string_view requested, const Error& reason) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kVersion);
        w.member("request_sha256", digest(requested));
        w.member("code", code_name(reason.code));
        w.member("reason", reason.text);
    });
    return w.take();
}

bool is_refusal_of(std::string_view refusal, std::string_view requested) {
    if (refusal.empty()) return false;
    const auto document = JsonDocument::parse(refusal);
    return document && document->root()["request_sha256"].text() == digest(requested);
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

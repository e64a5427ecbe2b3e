#include "wire/tessera/usage_sums_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "domain/cluster/node.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"
#include "wire/text/url_query.hpp"

namespace tessera {
namespace {

constexpr std::string_view kFrom = "from";
constexpr std::string_view kTo = "to";
constexpr std::string_view kNamespace = "namespace";

tl::unexpected<Error> bad(std::string_view name, std::string_view what) {
    return fail(Code::invalid_argument, fmt::format("{}: {}", name, what));
}

// The value of each parameter, in the order of `names`.
template <std::size_t N>
Result<std::array<std::optional<std::string>, N>> values_of(
    std::string_view query, const std::array<std::string_view, N>& names) {
    std::array<std::optional<std::string>, N> out;
    for (auto& [name, value] : query_parameters(query)) {
        const auto* const found = std::ranges::find(names, name);
        if (found == names.end()) {
            return bad("query", fmt::format("there is no parameter {}; write {}",
                                            is_utf8(name) ? json_string(name) : "of such bytes",
                                            fmt::join(names, ", ")));
        }
        auto& of = out.at(static_cast<std::size_t>(found - names.begin()));
        if (of) return bad(name, "is given twice");
        of = std::move(value);
    }
    return out;
}

Result<std::int64_t> time_of(std::string_view name, const std::optional<std::string>& text) {
    if (!text) return bad(name, "missing; write unix seconds");
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    const bool is_number = !text->empty() && std::ranges::all_of(*text, is_digit) &&
                           read.ec == std::errc() && value <= kEndOfTime;
    if (!is_number) return bad(name, fmt::format("is not a whole number from 0 to {}", kEndOfTime));
    return value;
}

void write_sum(JsonWriter& w, const UsageSum& sum) {
    w.object([&] {
        w.member("model", sum.shape.model);
        w.member("memoryBytes", sum.shape.memory.count);
        w.member("capacityBytes", sum.shape.capacity.count);
        w.member("computePercent", sum.shape.compute.value);
        w.member("whole", sum.shape.whole);
        w.member("seconds", sum.seconds);
    });
}

void write_namespace(JsonWriter& w, const std::string& ns, const std::vector<UsageSum>& usage) {
    w.object([&] {
        w.member("namespace", ns);
        w.array("usage", [&] {
            for (const UsageSum& sum : usage)
                write_sum(w, sum);
        });
    });
}

Result<UsageSum> read_sum(const JsonField& at) {
    UsageSum sum;
    TRY(sum.shape.model, at["model"].text());
    TRY(sum.shape.capacity.count, at["capacityBytes"].number(1, kMostGpuMemory.count));
    TRY(sum.shape.memory.count, at["memoryBytes"].number(0, sum.shape.capacity.count));
    TRY(const auto compute, at["computePercent"].number(0, 100));
    sum.shape.compute = Percent{static_cast<int>(compute)};
    TRY(sum.shape.whole, at["whole"].yes_or_no());
    TRY(sum.seconds, at["seconds"].number(0, std::numeric_limits<std::int64_t>::max()));
    return sum;
}

using NamespaceUsage = std::pair<std::string, std::vector<UsageSum>>;

Result<NamespaceUsage> read_namespace(const JsonField& at) {
    NamespaceUsage out;
    TRY(out.first, at["namespace"].text());
    TRY(out.second, at["usage"].each(read_sum));
    return out;
}

}  // namespace

std::string write_usage_query(const UsageQuery& query) {
    std::string out = fmt::format("from={}&to={}", query.window.from_s, query.window.to_s);
    if (!query.ns.empty()) out += "&namespace=" + encode_query(query.ns);
    return out;
}

Result<UsageQuery> read_usage_query(std::string_view query) {
    UsageQuery out;
    TRY(auto values, values_of(query, std::array{kFrom, kTo, kNamespace}));
    auto& [from, to, ns] = values;
    TRY(out.window.from_s, time_of(kFrom, from));
    TRY(out.window.to_s, time_of(kTo, to));
    if (out.window.from_s >= out.window.to_s) return bad(kTo, "is not after from");
    if (!ns) return out;
    if (!is_dns_label(*ns)) return bad(kNamespace, "is not the name of a namespace");
    out.ns = *std::move(ns);
    return out;
}

std::string write_usage_sums(const UsageSums& sums) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kUsageSumsVersion);
        w.member("from", sums.window.from_s);
        w.member("to", sums.window.to_s);
        w.array("namespaces", [&] {
            for (const auto& each : sums.by_namespace)
                write_namespace(w, each.first, each.second);
        });
    });
    return w.take() + "\n";
}

Result<UsageSums> read_usage_sums(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kUsageSumsVersion));
    UsageSums out;
    TRY(out.window.from_s, root["from"].number(0, kEndOfTime));
    TRY(out.window.to_s, root["to"].number(out.window.from_s, kEndOfTime));
    TRY(auto namespaces, root["namespaces"].each(read_namespace));
    for (auto& [ns, usage] : namespaces) {
        if (out.by_namespace.contains(ns))
            return root["namespaces"].fault(fmt::format("{} is listed twice", json_string(ns)));
        out.by_namespace.emplace(std::move(ns), std::move(usage));
    }
    return out;
}

}  // namespace tessera

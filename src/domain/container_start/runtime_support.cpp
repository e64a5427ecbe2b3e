#include "domain/container_start/runtime_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/ascii.hpp"

namespace tessera {
namespace {

using Version = std::array<int, 3>;

// Versions from `from` to below `before` apply the CDI devices of NRI plugins.
struct Carrying {
    std::string_view runtime;
    Version from;
    Version before;
};
constexpr int kOpen = 1'000'000;
constexpr std::array<Carrying, 3> kCarrying = {{
    {"containerd", {1, 7, 30}, {1, 8, 0}},
    {"containerd", {2, 1, 0}, {kOpen, 0, 0}},
    {"cri-o", {1, 34, 0}, {kOpen, 0, 0}},
}};

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), to_lower);
    return out;
}

// The first two or three numbers of "v2.0.5-k3s1", "1.7.27~ds1", "1.34.0+git".
std::optional<Version> parse_version(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    Version out{};
    for (std::size_t i = 0; i < out.size(); i++) {
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), out.at(i));
        if (error != std::errc() || out.at(i) < 0) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (i == 2) break;
        if (!text.starts_with('.')) return i == 1 ? std::optional(out) : std::nullopt;
        text.remove_prefix(1);
    }
    return out;
}

std::string dotted(const Version& version) {
    return fmt::format("{}", fmt::join(version, "."));
}

}  // namespace

Result<> check_cdi_from_nri(std::string_view name, std::string_view version) {
    const std::string runtime = lower(name);
    const auto parsed = parse_version(version);
    if (!parsed) return {};
    std::vector<std::string> good;
    for (const Carrying& row : kCarrying) {
        if (row.runtime != runtime) continue;
        if (*parsed >= row.from && *parsed < row.before) return {};
        good.push_back(row.before[0] == kOpen ? fmt::format("{} or later", dotted(row.from))
                                              : fmt::format("{}.{} from {}", row.from[0],
                                                            row.from[1], dotted(row.from)));
    }
    if (good.empty()) return {};
    return fail(Code::unsupported,
                fmt::format("{} {} ignores CDI devices that an NRI plugin adds, so the container "
                            "would start without its GPU; upgrade {} ({}), or set the agent's "
                            "identity to kubelet",
                            runtime, version, runtime, fmt::join(good, "; ")));
}

Result<> check_cdi_from_nri_of(std::string_view node_runtime) {
    constexpr std::string_view kSeparator = "://";
    const std::size_t at = node_runtime.find(kSeparator);
    if (at == std::string_view::npos) return {};
    return check_cdi_from_nri(node_runtime.substr(0, at),
                              node_runtime.substr(at + kSeparator.size()));
}

Result<> check_runtime_handler(std::string_view handler, std::span<const std::string> sandboxed) {
    const std::string name = lower(handler);
    const bool has_own_kernel = std::ranges::any_of(sandboxed, [&](const std::string& prefix) {
        return !prefix.empty() && name.starts_with(lower(prefix));
    });
    if (!has_own_kernel) return {};
    return fail(Code::unsupported,
                fmt::format("runtime handler {} runs the container with its own kernel, "
                            "where a GPU share can be neither used nor enforced; choose "
                            "another runtimeClassName for this pod (--sandboxed-handlers names "
                            "such handlers)",
                            handler));
}

bool is_cdi_kind(std::string_view kind) {
    constexpr std::string_view kName =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const std::size_t slash = kind.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == kind.size()) return false;
    return kind.substr(0, slash).find_first_not_of(kName) == std::string_view::npos &&
           kind.substr(slash + 1).find_first_not_of(kName) == std::string_view::npos;
}

bool reads_visible_devices(std::string_view handler, std::span<const std::string> handlers) {
    const std::string_view name = handler.empty() ? "default" : handler;
    return std::ranges::find(handlers, name) != handlers.end();
}

}  // namespace tessera

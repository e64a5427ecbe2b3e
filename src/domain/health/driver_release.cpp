#include "domain/health/driver_release.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 6> kUnloads = {
    "pod-deletion-required",     "drain-required",       "node-maintenance-required",
    "post-maintenance-required", "pod-restart-required", "upgrade-failed"};

}  // namespace

std::string driver_release_label(const std::map<std::string, std::string, std::less<>>& labels) {
    const auto asked = labels.find(kReleaseDriverLabel);
    if (asked != labels.end() && asked->second == "true")
        return fmt::format("{}=true", kReleaseDriverLabel);
    const auto state = labels.find(kUpgradeStateLabel);
    if (state == labels.end() || std::ranges::find(kUnloads, state->second) == kUnloads.end())
        return {};
    return fmt::format("{}={}", kUpgradeStateLabel, state->second);
}

}  // namespace tessera

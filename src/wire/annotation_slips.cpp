#include "wire/annotation_slips.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>

#include "domain/cluster/pod_facts.hpp"
#include "domain/defrag/movable.hpp"
#include "domain/request/card_rules.hpp"
#include "domain/request/dialect.hpp"
#include "wire/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kOurs = "tessera.dev/";

// What a pod's user writes, in the order in which messages name it.
constexpr auto kUsers = std::to_array<std::string_view>(
    {kGpuModels, kGpuUuids, kGpuApart, kGpuTogether, kGpuLinks, kCoresCeiling, kPlacementPolicy,
     key::kGang, key::kGangSize, defrag::kMovable, key::kResize});
// What Tessera itself writes on a pod.
constexpr auto kWritten = std::to_array<std::string_view>(
    {key::kAllocation, key::kAllocationMac, key::kEnforcedBy, key::kResizeRefused});
constexpr auto kResources =
    std::to_array<std::string_view>({resource::kGpu, resource::kGpuMemory, resource::kGpuCores});

bool is_one_of(std::string_view name, const auto& names) {
    return std::ranges::find(names, name) != names.end();
}

// Behind the prefix, as one who types it might tell it from others: "GPU_Models" is "gpu-models".
std::string plain(std::string_view name) {
    std::string out(name.substr(kOurs.size()));
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '_' || c == '.') c = '-';
    }
    return out;
}

// Letters to add, leave out or change (Levenshtein).
std::size_t changes(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

// The one that was meant, in all likelihood: a slip or two away, or it has what stands there as a
// part of it ("models").
std::optional<std::string_view> nearest(std::string_view slip) {
    constexpr std::size_t kFew = 2;
    constexpr std::size_t kShortestPart = 4;
    const std::string text = plain(slip);
    std::optional<std::string_view> best;
    std::size_t least = kFew + 1;
    const auto look_at = [&](std::string_view name) {
        const std::string known = plain(name);
        const bool is_part = text.size() >= kShortestPart && known.find(text) != std::string::npos;
        const std::size_t away =
            is_part ? std::min(kFew, changes(text, known)) : changes(text, known);
        if (away >= least) return;
        least = away;
        best = name;
    };
    std::ranges::for_each(kUsers, look_at);
    std::ranges::for_each(kResources, look_at);
    return best;
}

std::string sentence(std::string_view slip) {
    if (is_one_of(slip, kResources)) {
        return fmt::format("annotation {} does nothing: it is a resource, for a container's limits",
                           slip);
    }
    if (const auto meant = nearest(slip)) {
        const bool is_resource = is_one_of(*meant, kResources);
        return fmt::format("annotation {} is not known: did you mean {}{}?", slip,
                           is_resource ? "the resource " : "", *meant);
    }
    return fmt::format("annotation {} is not known; known are {}", slip, fmt::join(kUsers, ", "));
}

}  // namespace

std::vector<std::string> annotation_slips(JsonValue annotations) {
    std::vector<std::string> out;
    for (const auto& [name, value] : annotations.members()) {
        if (!name.starts_with(kOurs) || is_one_of(name, kUsers) || is_one_of(name, kWritten))
            continue;
        out.push_back(sentence(name));
        if (out.size() == kMostSlips) break;
    }
    return out;
}

}  // namespace tessera

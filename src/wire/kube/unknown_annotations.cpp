#include "wire/kube/unknown_annotations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>

#include "domain/cluster/pod_info.hpp"
#include "domain/defrag/movable.hpp"
#include "domain/dialect/native.hpp"
#include "domain/request/gpu_rules.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kOurs = "tessera.dev/";

// The annotations that users write, in the order in which messages list them.
constexpr auto kUsers = std::to_array<std::string_view>(
    {kGpuModels, kGpuUuids, kGpuTopology, kGpuMemoryLimit, kCoresLimit, kPlacementPolicy,
     key::kGang, key::kGangSize, defrag::kMovable, key::kResize});
// The labels that users write.
constexpr auto kLabels = std::to_array<std::string_view>({kGpuAffinity, kGpuAntiAffinity});
// The annotations that Tessera itself writes on a pod.
constexpr auto kWritten = std::to_array<std::string_view>(
    {key::kAllocation, key::kAllocationMac, key::kEnforcedBy, key::kResizeRefused});
constexpr auto kResources = std::to_array<std::string_view>(
    {resource::kGpu, resource::kGpuShare, resource::kGpuMemory, resource::kGpuCores});

bool is_one_of(std::string_view name, const auto& names) {
    return std::ranges::find(names, name) != names.end();
}

// The name without the prefix, in the spelling of our names: "GPU_Models" becomes "gpu-models".
std::string plain(std::string_view name) {
    std::string out(name.substr(kOurs.size()));
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '_' || c == '.') c = '-';
    }
    return out;
}

// The number of letters to add, remove or change (Levenshtein distance).
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

// The name that the user probably meant: it differs by one or two letters, or it contains the given
// name ("models").
std::optional<std::string_view> nearest(std::string_view unknown_annotation) {
    constexpr std::size_t kFew = 2;
    constexpr std::size_t kShortestPart = 4;
    const std::string text = plain(unknown_annotation);
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
    std::ranges::for_each(kLabels, look_at);
    std::ranges::for_each(kResources, look_at);
    return best;
}

enum class Kind { annotation, label };

// What is known under this name, as something else than `given`: "an annotation of the pod".
std::string_view known_as_other(std::string_view name, Kind given) {
    if (is_one_of(name, kResources)) return "a resource, for a container's limits";
    if (given == Kind::annotation && is_one_of(name, kLabels)) return "a label of the pod";
    if (given == Kind::label && is_one_of(name, kUsers)) return "an annotation of the pod";
    return {};
}

std::string_view article_of(std::string_view name, Kind given) {
    if (is_one_of(name, kResources)) return "the resource ";
    if (given == Kind::annotation && is_one_of(name, kLabels)) return "the label ";
    if (given == Kind::label && is_one_of(name, kUsers)) return "the annotation ";
    return {};
}

std::string sentence(std::string_view name, Kind given) {
    const std::string subject =
        fmt::format("{} {}", given == Kind::annotation ? "annotation" : "label", name);
    if (const auto other = known_as_other(name, given); !other.empty())
        return fmt::format("{} does nothing: it is {}", subject, other);
    if (const auto meant = nearest(name)) {
        return fmt::format("{} is not known: did you mean {}{}?", subject,
                           article_of(*meant, given), *meant);
    }
    return fmt::format("{} is not known; known are the annotations {} and the labels {}", subject,
                       fmt::join(kUsers, ", "), fmt::join(kLabels, ", "));
}

void add_unknown(JsonValue names, Kind kind, std::vector<std::string>& out) {
    for (const auto& [name, value] : names.members()) {
        if (out.size() == kMostUnknownAnnotations) return;
        const bool is_known = kind == Kind::label
                                  ? is_one_of(name, kLabels)
                                  : is_one_of(name, kUsers) || is_one_of(name, kWritten);
        if (name.starts_with(kOurs) && !is_known) out.push_back(sentence(name, kind));
    }
}

}  // namespace

std::vector<std::string> unknown_annotations(JsonValue annotations, JsonValue labels) {
    std::vector<std::string> out;
    add_unknown(annotations, Kind::annotation, out);
    add_unknown(labels, Kind::label, out);
    return out;
}

}  // namespace tessera

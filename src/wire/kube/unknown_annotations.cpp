#include "wire/kube/unknown_annotations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/ascii.hpp"
#include "base/edit_distance.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/defrag/movable.hpp"
#include "domain/dialect/native.hpp"
#include "domain/request/gpu_rules.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kOurs = "tessera.dev/";

// What users write, in the order in which messages list it.
constexpr auto kAnnotations = std::to_array<std::string_view>(
    {kGpuModels, kGpuUuids, kGpuTopology, kIsolation, kGpuMemoryLimit, kCoresLimit,
     kPlacementPolicy, key::kGang, key::kGangSize, defrag::kMovable, key::kResize});
constexpr auto kLabels = std::to_array<std::string_view>({kGpuAffinity, kGpuAntiAffinity});
constexpr auto kResources = std::to_array<std::string_view>(
    {resource::kGpu, resource::kGpuShare, resource::kGpuMemory, resource::kGpuCores});

struct Kind {
    std::string_view noun;
    std::string_view place;  // after "it is"
    std::span<const std::string_view> names;
};

constexpr Kind kAnnotation{"annotation", "an annotation of the pod", kAnnotations};
constexpr Kind kLabel{"label", "a label of the pod", kLabels};
constexpr Kind kResource{"resource", "a resource, for a container's limits", kResources};
constexpr std::array kKinds = {&kAnnotation, &kLabel, &kResource};

bool is_one_of(std::string_view name, const auto& names) {
    return std::ranges::find(names, name) != names.end();
}

// The name without the prefix, in the spelling of our names: "GPU_Models" becomes "gpu-models".
std::string plain(std::string_view name) {
    std::string out(name.substr(kOurs.size()));
    for (char& c : out) {
        c = to_lower(c);
        if (c == '_' || c == '.') c = '-';
    }
    return out;
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
            is_part ? std::min(kFew, edit_distance(text, known)) : edit_distance(text, known);
        if (away >= least) return;
        least = away;
        best = name;
    };
    for (const Kind* kind : kKinds)
        std::ranges::for_each(kind->names, look_at);
    return best;
}

// Null if no part of Tessera reads the name.
const Kind* kind_of(std::string_view name) {
    const auto at = std::ranges::find_if(
        kKinds, [&](const Kind* kind) { return is_one_of(name, kind->names); });
    return at == kKinds.end() ? nullptr : *at;
}

// `name` is none of the kind `given`.
std::string sentence(std::string_view name, const Kind& given) {
    const std::string subject = fmt::format("{} {}", given.noun, name);
    if (const Kind* other = kind_of(name))
        return fmt::format("{} does nothing: it is {}", subject, other->place);
    if (const auto meant = nearest(name)) {
        const Kind* kind = kind_of(*meant);
        return fmt::format("{} is not known: did you mean {}{}?", subject,
                           kind == &given ? "" : fmt::format("the {} ", kind->noun), *meant);
    }
    return fmt::format("{} is not known; known are the annotations {} and the labels {}", subject,
                       fmt::join(kAnnotations, ", "), fmt::join(kLabels, ", "));
}

// Other known annotations with a wrong value refuse the pod. This one does not decide where it
// runs.
bool is_unknown_value(std::string_view name, JsonValue value) {
    const std::string text = value.text_or("");
    return name == defrag::kMovable && text != "true" && text != "false";
}

void add_unknown(JsonValue names, const Kind& kind, std::vector<std::string>& out) {
    for (const auto& [name, value] : names.members()) {
        if (out.size() == kMostUnknownAnnotations) return;
        if (!name.starts_with(kOurs)) continue;
        const bool is_known = is_one_of(name, kind.names) ||
                              (&kind == &kAnnotation && is_one_of(name, key::kWrittenByTessera));
        if (!is_known) {
            out.push_back(sentence(name, kind));
        } else if (is_unknown_value(name, value)) {
            out.push_back(
                fmt::format("annotation {} is neither \"true\" nor \"false\": tessera defrag does "
                            "not move the pod",
                            name));
        }
    }
}

}  // namespace

std::vector<std::string> unknown_annotations(JsonValue annotations, JsonValue labels) {
    std::vector<std::string> out;
    add_unknown(annotations, kAnnotation, out);
    add_unknown(labels, kLabel, out);
    return out;
}

}  // namespace tessera

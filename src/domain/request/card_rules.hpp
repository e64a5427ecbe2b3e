// Which cards a pod admits for its shares, beside their room: some models or cards alone, or not
// beside certain other pods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/request/link.hpp"

namespace tessera {

// The annotations of a pod, in any dialect; docs/placement.md says what they mean.
inline constexpr std::string_view kGpuModels = "tessera.dev/gpu-models";
inline constexpr std::string_view kGpuUuids = "tessera.dev/gpu-uuids";
inline constexpr std::string_view kGpuApart = "tessera.dev/gpu-apart";
inline constexpr std::string_view kGpuTogether = "tessera.dev/gpu-together";
inline constexpr std::string_view kGpuLinks = "tessera.dev/gpu-links";

// Pods of one namespace that name the same group in the same annotation: a hash of all three. Two
// groups of one hash are held for one, which keeps pods apart, or together, that need not be.
using CardGroup = std::uint64_t;

// Their texts; empty where there is none.
struct CardRuleTexts {
    std::string models;
    std::string uuids;
    std::string apart;
    std::string together;
    std::string links;

    friend bool operator==(const CardRuleTexts&, const CardRuleTexts&) = default;
};

struct CardRules {
    // Any of these where there are some, and none of the barred ones.
    std::vector<std::string> models;
    std::vector<std::string> barred_models;
    std::vector<GpuUuid> uuids;
    std::vector<GpuUuid> barred_uuids;
    // Of the pod: it holds no card that another of this group holds,
    std::optional<CardGroup> apart;
    // and no card but such ones, as soon as another of this group holds any.
    std::optional<CardGroup> together;
    bool joins = false;  // another of `together` holds a card somewhere: ClusterView::joined
    // Of each container that asks for several cards: how each two of them are linked.
    std::optional<Link> link;

    // One card as well as another, whoever is on it.
    [[nodiscard]] bool admits_any() const {
        return models.empty() && barred_models.empty() && uuids.empty() && barred_uuids.empty() &&
               !apart && !together;
    }
    // The groups that the pod is of.
    [[nodiscard]] std::vector<CardGroup> groups() const;

    friend bool operator==(const CardRules&, const CardRules&) = default;
};

// invalid_argument, naming the annotation and what to write in it.
Result<CardRules> parse_card_rules(const CardRuleTexts& texts, std::string_view space);

bool admits_uuid(const CardRules& rules, const GpuUuid& uuid);
bool admits_model(const CardRules& rules, std::string_view model);

// Whether the wish, such as "A100", is words in a row of a model's name, such as "NVIDIA
// A100-SXM4-80GB", whatever their case. "A10" is no word of it.
bool is_of_model(std::string_view wish, std::string_view model);

// What is asked for by model and UUID, in words: "a card of model A100 or H100". Short, whatever
// the pod has written.
std::string wish_of(const CardRules& rules);

}  // namespace tessera

#include "domain/cluster/node_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>

namespace tessera {
namespace {

std::optional<std::int64_t> integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool holds_for(const LabelTerm& term, const Labels& labels) {
    const auto label = labels.find(term.key);
    const bool is_there = label != labels.end();
    const auto is_listed = [&] {
        return std::ranges::find(term.values, label->second) != term.values.end();
    };
    const auto compares = [&](auto compare) {
        if (!is_there || term.values.size() != 1) return false;
        const auto own = integer(label->second);
        const auto asked = integer(term.values.front());
        return own && asked && compare(*own, *asked);
    };
    switch (term.kind) {
        case LabelTerm::Kind::in:
            return is_there && is_listed();
        case LabelTerm::Kind::not_in:
            return !is_there || !is_listed();
        case LabelTerm::Kind::exists:
            return is_there;
        case LabelTerm::Kind::absent:
            return !is_there;
        case LabelTerm::Kind::greater:
            return compares(std::greater{});
        case LabelTerm::Kind::less:
            return compares(std::less{});
    }
    return false;
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    return toleration.exists || (!toleration.key.empty() && toleration.value == taint.value);
}

}  // namespace

bool match(const LabelTerms& terms, const Labels& labels) {
    return std::ranges::all_of(terms,
                               [&](const LabelTerm& term) { return holds_for(term, labels); });
}

bool selects(const NodeRules& rules, const NodeTraits& node) {
    if (!match(rules.selector, node.labels)) return false;
    const auto is_one = [&](const LabelTerms& terms) {
        return !terms.empty() && match(terms, node.labels);
    };
    return !rules.has_affinity || std::ranges::any_of(rules.affinity, is_one);
}

bool may_run(const NodeRules& rules, const NodeTraits& node) {
    if (!selects(rules, node)) return false;
    return std::ranges::all_of(node.taints, [&](const Taint& taint) {
        return taint.effect == "PreferNoSchedule" ||
               std::ranges::any_of(rules.tolerations, [&](const Toleration& toleration) {
                   return tolerates(toleration, taint);
               });
    });
}

}  // namespace tessera

#include "app/cli/explain_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "app/cli/assumed_policy.hpp"
#include "app/cli/tab_writer.hpp"
#include "base/counted.hpp"
#include "base/quantity.hpp"
#include "domain/placement/fleet/policy.hpp"
#include "wire/json.hpp"

namespace tessera {
namespace {

bool is_binpack(const PodStory& story) {
    return story.policy == kBestFitInBytes;
}

std::string head(const PodStory& story) {
    const std::string where =
        story.on.empty() ? std::string("waits") : fmt::format("is on node {}", story.on.str());
    std::string out = fmt::format("Pod {} {}. ", story.pod.str(), where);
    switch (story.policy_source) {
        case PodStory::Source::pod:
            out += fmt::format("Its own policy is {}", story.policy);
            break;
        case PodStory::Source::controller:
            out += fmt::format("The cluster's policy is {}", story.policy);
            break;
        case PodStory::Source::assumed:
            out += assumed_policy_text(story.policy);
    }
    if (story.learns)
        out += fmt::format("; learnt from {}, those of now", counted(story.learnt, "pod"));
    out += story.on.empty() ? ".\n" : ".\nWere it placed anew now, among the others as they are:\n";
    for (const std::string& slip : story.slips)
        out += "Warning: " + slip + "\n";
    if (!story.gang.empty()) out += story.gang + "\n";
    return out;
}

std::string score_text(const PodStory& story, const NodeStory& node) {
    if (is_binpack(story)) return to_string(Bytes{-node.score}) + " left";
    return node.rated ? fmt::format("{}", node.score) : "last";
}

std::string terms_text(const NodeStory& node) {
    std::vector<std::string> parts;
    for (const ScoreTerm& term : node.terms) {
        const bool is_small = std::abs(term.value) < 10;
        parts.push_back(is_small ? fmt::format("{} {:.2f}", term.name, term.value)
                                 : fmt::format("{} {:.0f}", term.name, term.value));
    }
    if (!node.rated) return "the policy has no terms for it: best fit";
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string cards_text(const NodeStory& node) {
    std::vector<std::string> parts;
    parts.reserve(node.cards.size());
    for (const CardStory& card : node.cards)
        parts.push_back(fmt::format("{} ({} free)", card.index, to_string(card.free)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string fits_text(const PodStory& story, std::size_t most) {
    std::string table = "NODE\tSCORE\tGPU\tMADE OF\n";
    std::size_t fitting = 0;
    for (const NodeStory& node : story.nodes) {
        if (!node.fits || (++fitting > most && most > 0)) continue;
        table += fmt::format("{}\t{}\t{}\t{}\n", node.node.str(), score_text(story, node),
                             cards_text(node), terms_text(node));
    }
    if (fitting == 0) return "It fits on no node.\n";
    std::string out = align_tabs(table);
    if (most > 0 && fitting > most)
        out += fmt::format("... and {} more; --all shows them.\n", fitting - most);
    return out;
}

std::string refusals_text(const PodStory& story) {
    constexpr std::size_t kNamed = 5;
    std::map<std::string, std::vector<std::string>> nodes;  // by reason
    for (const NodeStory& node : story.nodes) {
        if (!node.fits) nodes[node.why].push_back(node.node.str());
    }
    std::string out;
    for (const auto& [why, names] : nodes) {
        const auto named = std::min(names.size(), kNamed);
        const auto end = names.begin() + static_cast<std::ptrdiff_t>(named);
        out += fmt::format(
            "Not on {}{}: {}\n", fmt::join(names.begin(), end, ", "),
            names.size() > named ? fmt::format(" and {} more", names.size() - named) : "", why);
    }
    return out;
}

// Why a pod waits though it fits.
std::string what_else(const PodStory& story) {
    if (!story.on.empty()) return {};
    if (story.gated) return "It waits for its scheduling gates to be removed.\n";
    const bool fits = std::ranges::any_of(story.nodes, &NodeStory::fits);
    if (!fits || !story.gang.empty()) return {};
    return fmt::format(
        "It fits: if it goes on waiting, what keeps it is not the cards (kubectl describe pod {} "
        "-n {}).\n",
        story.pod.name, story.pod.space);
}

void write_node(JsonWriter& w, const NodeStory& node) {
    w.member("node", node.node.str());
    w.member("fits", node.fits);
    if (!node.fits) {
        w.member("why", node.why);
        return;
    }
    if (node.rated) w.member("score", node.score);
    w.array("terms", [&] {
        for (const ScoreTerm& term : node.terms) {
            w.object([&] {
                w.member("name", term.name);
                w.raw_member("value", fmt::format("{:.6g}", term.value));
            });
        }
    });
    w.array("gpus", [&] {
        for (const CardStory& card : node.cards) {
            w.object([&] {
                w.member("uuid", card.uuid.str());
                w.member("index", card.index);
                w.member("model", card.model);
                w.member("freeBytes", card.free.count);
            });
        }
    });
}

}  // namespace

std::string explain_text(const PodStory& story, std::size_t most) {
    return head(story) + fits_text(story, most) + refusals_text(story) + what_else(story);
}

std::string explain_json(const PodStory& story) {
    JsonWriter w;
    w.object([&] {
        w.member("version", 1);
        w.member("namespace", story.pod.space);
        w.member("name", story.pod.name);
        if (!story.on.empty()) w.member("on", story.on.str());
        w.member("policy", story.policy);
        if (story.learns) w.member("learntFrom", static_cast<std::int64_t>(story.learnt));
        if (!story.gang.empty()) w.member("gang", story.gang);
        if (!story.slips.empty()) {
            w.array("warnings", [&] {
                for (const std::string& slip : story.slips)
                    w.item(slip);
            });
        }
        w.array("nodes", [&] {
            for (const NodeStory& node : story.nodes)
                w.object([&] { write_node(w, node); });
        });
    });
    return w.take();
}

}  // namespace tessera

#include "app/cli/explain_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "app/cli/assumed_policy.hpp"
#include "app/cli/node_names.hpp"
#include "app/cli/tab_writer.hpp"
#include "base/counted.hpp"
#include "base/quantity.hpp"
#include "domain/placement/engine/policy.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

bool is_binpack(const PodExplanation& explanation) {
    return explanation.policy == kBestFitInBytes;
}

std::vector<std::string> warnings(const PodExplanation& explanation) {
    std::vector<std::string> out = explanation.unknown_annotations;
    const auto& faults = explanation.scheduler.faults;
    out.insert(out.end(), faults.begin(), faults.end());
    return out;
}

std::string head(const PodExplanation& explanation) {
    const std::string where = explanation.on.empty()
                                  ? std::string("is pending")
                                  : fmt::format("is on node {}", explanation.on.str());
    std::string out = fmt::format("Pod {} {}. ", explanation.pod.str(), where);
    switch (explanation.policy_source) {
        case PodExplanation::Source::pod:
            out += fmt::format("Its own policy is {}", explanation.policy);
            break;
        case PodExplanation::Source::option:
            out += fmt::format("The policy is {} (--policy)", explanation.policy);
            break;
        case PodExplanation::Source::controller:
            out += fmt::format("The cluster's policy is {}", explanation.policy);
            break;
        case PodExplanation::Source::assumed:
            out += assumed_policy_text(explanation.policy);
    }
    if (explanation.learns) {
        out += fmt::format("; learned from {} of the current cluster",
                           counted(explanation.learnt, "pod"));
    }
    out += explanation.on.empty()
               ? ".\n"
               : ".\nIf it were placed again now, with all other pods in place:\n";
    for (const std::string& warning : warnings(explanation))
        out += "Warning: " + warning + "\n";
    if (!explanation.gang.empty()) out += explanation.gang + "\n";
    return out;
}

std::string score_text(const PodExplanation& explanation, const NodeExplanation& node) {
    if (is_binpack(explanation)) return rounded_down(Bytes{-node.score}) + " left";
    return node.scored ? fmt::format("{}", node.score) : "last";
}

std::string terms_text(const NodeExplanation& node) {
    std::vector<std::string> parts;
    for (const ScoreTerm& term : node.terms) {
        const bool is_small = std::abs(term.value) < 10;
        parts.push_back(is_small ? fmt::format("{} {:.2f}", term.name, term.value)
                                 : fmt::format("{} {:.0f}", term.name, term.value));
    }
    if (!node.scored) return "not scored by the policy: best fit";
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string gpus_text(const NodeExplanation& node) {
    std::vector<std::string> parts;
    parts.reserve(node.gpus.size());
    for (const GpuExplanation& gpu : node.gpus)
        parts.push_back(fmt::format("{} ({} free)", gpu.index, rounded_down(gpu.free)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string fits_text(const PodExplanation& explanation, std::size_t most) {
    std::string table = "NODE\tSCORE\tGPU\tMADE OF\n";
    std::size_t fitting = 0;
    for (const NodeExplanation& node : explanation.nodes) {
        if (!node.fits || (++fitting > most && most > 0)) continue;
        table += fmt::format("{}\t{}\t{}\t{}\n", node.node.str(), score_text(explanation, node),
                             gpus_text(node), terms_text(node));
    }
    if (explanation.nodes.empty()) {
        return "It fits on no node: no node has GPUs of Tessera (tessera doctor, check agents).\n";
    }
    if (fitting == 0) return "It fits on no node.\n";
    std::string out = align_tabs(table);
    if (most > 0 && fitting > most)
        out += fmt::format("... and {} more; --all shows them.\n", fitting - most);
    return out;
}

std::string refusals_text(const PodExplanation& explanation) {
    std::map<std::string, std::vector<NodeName>> nodes;  // by reason
    for (const NodeExplanation& node : explanation.nodes) {
        if (!node.fits) nodes[node.why].push_back(node.node);
    }
    std::string out;
    for (const auto& [why, names] : nodes)
        out += fmt::format("Not on {}: {}\n", names_of_nodes(names), why);
    return out;
}

// Why a pod stays pending although it fits.
std::string what_else(const PodExplanation& explanation) {
    if (!explanation.on.empty()) return {};
    if (explanation.gated) return "It waits for its scheduling gates to be removed.\n";
    const bool fits = std::ranges::any_of(explanation.nodes, &NodeExplanation::fits);
    if (!fits || !explanation.gang.empty()) return {};
    const SchedulerExplanation& scheduler = explanation.scheduler;
    if (!scheduler.faults.empty())
        return "Tessera has GPUs for it. If it stays pending, see the warning above.\n";
    return fmt::format(
        "It fits. {}If it stays pending, {} (kubectl describe pod {} -n {}).\n",
        scheduler.caveat.empty() ? "" : scheduler.caveat + " ",
        scheduler.caveat.empty() ? "the cause is not the GPUs" : "its events may say why",
        explanation.pod.name, explanation.pod.ns);
}

void write_node(JsonWriter& w, const NodeExplanation& node) {
    w.member("node", node.node.str());
    w.member("fits", node.fits);
    if (!node.fits) {
        w.member("why", node.why);
        return;
    }
    if (node.scored) w.member("score", node.score);
    w.array("terms", [&] {
        for (const ScoreTerm& term : node.terms) {
            w.object([&] {
                w.member("name", term.name);
                w.raw_member("value", fmt::format("{:.6g}", term.value));
            });
        }
    });
    w.array("gpus", [&] {
        for (const GpuExplanation& gpu : node.gpus) {
            w.object([&] {
                w.member("uuid", gpu.uuid.str());
                w.member("index", gpu.index);
                w.member("model", gpu.model);
                w.member("freeBytes", gpu.free.count);
            });
        }
    });
}

}  // namespace

std::string explain_text(const PodExplanation& explanation, std::size_t most) {
    return head(explanation) + fits_text(explanation, most) + refusals_text(explanation) +
           what_else(explanation);
}

std::string explain_json(const PodExplanation& explanation) {
    JsonWriter w;
    w.object([&] {
        w.member("version", 1);
        w.member("namespace", explanation.pod.ns);
        w.member("name", explanation.pod.name);
        if (!explanation.on.empty()) w.member("on", explanation.on.str());
        w.member("policy", explanation.policy);
        if (explanation.learns)
            w.member("learntFrom", static_cast<std::int64_t>(explanation.learnt));
        if (!explanation.gang.empty()) w.member("gang", explanation.gang);
        if (const auto all = warnings(explanation); !all.empty()) {
            w.array("warnings", [&] {
                for (const std::string& warning : all)
                    w.item(warning);
            });
        }
        w.array("nodes", [&] {
            for (const NodeExplanation& node : explanation.nodes)
                w.object([&] { write_node(w, node); });
        });
    });
    return w.take();
}

}  // namespace tessera

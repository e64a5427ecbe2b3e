#include "app/cli/clean_nodes.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/cli/node_names.hpp"
#include "base/counted.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kPoll{1};

std::string agents_run_on(const std::vector<NodeName>& running) {
    return fmt::format(
        "agents run on {} and would publish the nodes again; uninstall Tessera "
        "first (helm uninstall tessera)",
        names_of_nodes(running));
}

// Reports what it waits for at once, and again when fewer agents run.
Result<> wait_for_agents(PublishedNodes& nodes, Clock& clock, std::chrono::seconds patience,
                         const CleanNodesOutput::Line& report) {
    const auto deadline = clock.steady() + patience;
    std::vector<NodeName> reported;
    while (true) {
        TRY(const auto running, nodes.nodes_with_agents());
        if (running.empty()) return {};
        if (clock.steady() >= deadline) return fail(Code::conflict, agents_run_on(running));
        if (running != reported) {
            const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - clock.steady());
            report(fmt::format("waiting up to {} s for the agents on {} to end", left.count(),
                               names_of_nodes(running)));
            reported = running;
        }
        clock.sleep_for(kPoll);
    }
}

// Returns whether agents run.
Result<bool> report_agents(PublishedNodes& nodes, const CleanNodesOutput::Line& report) {
    TRY(const auto running, nodes.nodes_with_agents());
    if (!running.empty()) report("nothing can be removed yet: " + agents_run_on(running));
    return !running.empty();
}

}  // namespace

Result<> clean_nodes(PublishedNodes& nodes, Clock& clock, const CleanNodesOptions& options,
                     const CleanNodesOutput& output) {
    bool has_agents = false;
    if (options.dry_run) {
        TRY(has_agents, report_agents(nodes, output.report));
    } else {
        TRY_VOID(wait_for_agents(nodes, clock, options.patience, output.report));
    }
    TRY(const auto found, nodes.list());
    for (const PublishedNode& node : found) {
        if (!options.dry_run) {
            const auto done = nodes.remove(node);
            if (!done) return fail(done.error().in("node " + node.name.str()));
        }
        output.print(fmt::format(
            "{}: {} {}, {} and {}", node.name.str(), options.dry_run ? "would remove" : "removed",
            counted(node.annotations.size(), "annotation"), counted(node.labels.size(), "label"),
            counted(node.amounts.size(), "amount")));
    }
    output.print(fmt::format("{} {}{}", counted(found.size(), "node"),
                             options.dry_run ? "would be cleaned" : "cleaned",
                             has_agents ? ", after the agents have ended" : ""));
    return {};
}

}  // namespace tessera

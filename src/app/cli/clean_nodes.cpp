#include "app/cli/clean_nodes.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {
namespace {

constexpr std::chrono::seconds kPoll{1};
constexpr std::size_t kNodesInMessage = 5;

std::string text_of(const std::vector<NodeName>& nodes) {
    std::string out;
    for (std::size_t i = 0; i < nodes.size() && i < kNodesInMessage; ++i)
        out += (i == 0 ? "" : ", ") + nodes[i].str();
    if (nodes.size() > kNodesInMessage)
        out += fmt::format(" and {} more", nodes.size() - kNodesInMessage);
    return out;
}

Result<> wait_for_agents(PublishedNodes& nodes, Clock& clock, std::chrono::seconds patience) {
    const auto deadline = clock.steady() + patience;
    while (true) {
        TRY(const auto running, nodes.nodes_with_agents());
        if (running.empty()) return {};
        if (clock.steady() >= deadline) {
            return fail(Code::conflict,
                        fmt::format("agents run on {} and would publish the nodes again; uninstall "
                                    "Tessera first (helm uninstall tessera)",
                                    text_of(running)));
        }
        clock.sleep_for(kPoll);
    }
}

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<> clean_nodes(PublishedNodes& nodes, Clock& clock, const CleanNodesOptions& options,
                     const std::function<void(const std::string&)>& print) {
    if (!options.dry_run) TRY_VOID(wait_for_agents(nodes, clock, options.patience));
    TRY(const auto found, nodes.list());
    for (const PublishedNode& node : found) {
        if (!options.dry_run) {
            const auto done = nodes.remove(node);
            if (!done) return fail(done.error().in("node " + node.name.str()));
        }
        print(fmt::format(
            "{}: {} {}, {} and {}", node.name.str(), options.dry_run ? "would remove" : "removed",
            counted(node.annotations.size(), "annotation"), counted(node.labels.size(), "label"),
            counted(node.amounts.size(), "amount")));
    }
    print(fmt::format("{} {}", counted(found.size(), "node"),
                      options.dry_run ? "would be cleaned" : "cleaned"));
    return {};
}

}  // namespace tessera

// tessera clean-nodes: removes what agents have published on Node objects, after an uninstall.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ports/clock.hpp"
#include "ports/kube/published_nodes.hpp"

namespace tessera {

struct CleanNodesOptions {
    bool dry_run = false;
    // How long agents may need to end. An agent that runs would publish its node again.
    std::chrono::seconds patience{120};
};

struct CleanNodesOutput {
    using Line = std::function<void(const std::string&)>;
    Line print;   // a line for each Node, and a line at the end
    Line report;  // what it waits for, before it waits; and what a dry run did not wait for
};

// Removing can be repeated. A dry run does not wait for agents. Errors: conflict if agents still
// run, with their nodes; those of the port, with the Node's name.
Result<> clean_nodes(PublishedNodes& nodes, Clock& clock, const CleanNodesOptions& options,
                     const CleanNodesOutput& output);

}  // namespace tessera

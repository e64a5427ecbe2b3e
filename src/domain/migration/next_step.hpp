// The next step in the migration of one node, from what the node shows now. There is no other
// state, so a migration that was interrupted at any moment continues. A node never has both labels,
// and a plugin is started only after the other plugin has ended: both use the same socket.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "domain/migration/facts.hpp"

namespace tessera::migration {

enum class Direction { to_tessera, to_gpushare };

struct Wait {
    std::string until;  // as in "pod kube-system/x has ended"
    std::string fix;    // what to do if that takes too long

    friend bool operator==(const Wait&, const Wait&) = default;
};

struct Done {
    friend bool operator==(const Done&, const Done&) = default;
};

using Step = std::variant<NodeChange, Wait, Done>;

Step next_step(const Node& node, Direction direction);

// The steps that follow if each wait ends as it should: changes and waits in words, for people.
std::vector<std::string> steps_ahead(const Node& node, Direction direction);

// A pod on the node that requests GPUs and has not started. Its containers would start under the
// other plugin, which does not know what the pod was given. Null if there is none.
const Pod* unstarted(const Node& node);

bool is_placed_by_tessera(const Pod& pod);
// Whether gpushare counts the pod's memory by its annotations: the pod is on one GPU, and requests
// aliyun.com/gpu-mem (docs/research/gpushare.md, section 2.6).
bool is_counted_by_gpushare(const PodInfo& pod);

}  // namespace tessera::migration

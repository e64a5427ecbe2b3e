#include "domain/cluster/node_labels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>

#include "base/label_value.hpp"

namespace tessera {

std::string unknown_config_text(std::string_view label, const std::set<std::string>& names) {
    return fmt::format("{}={} names no configuration; there {}", kAgentConfigLabel, label,
                       names.empty() ? "is none" : fmt::format("are {}", fmt::join(names, ", ")));
}

StringMap node_labels(const NodeInventory& node) {
    std::optional<std::string> model;
    Bytes smallest;
    for (const Gpu& gpu : node.gpus) {
        if (gpu.memory.count > 0 && (smallest.count == 0 || gpu.memory < smallest))
            smallest = gpu.memory;
        if (gpu.model.empty()) continue;
        const std::string value = as_label_value(gpu.model);
        model = model && *model != value ? "mixed" : value;
    }
    return {{std::string(kGpuCountLabel), std::to_string(node.gpus.size())},
            {std::string(kGpuModelLabel), model.value_or("")},
            {std::string(kGpuMemoryLabel),
             smallest.count > 0 ? std::to_string(smallest.count / kMiB) : ""}};
}

}  // namespace tessera

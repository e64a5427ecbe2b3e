#include "domain/cluster/node_labels.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace tessera {
namespace {

constexpr std::size_t kLongestValue = 63;

constexpr bool is_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string label_value(std::string_view text) {
    std::string value(text);
    for (char& c : value) {
        if (!is_alnum(c) && c != '_' && c != '.') c = '-';
    }
    value.erase(value.begin(), std::ranges::find_if(value, is_alnum));
    value.resize(std::min(value.size(), kLongestValue));
    while (!value.empty() && !is_alnum(value.back()))
        value.pop_back();
    return value;
}

StringMap node_labels(const NodeInventory& node) {
    std::optional<std::string> model;
    Bytes smallest;
    for (const Gpu& gpu : node.gpus) {
        if (gpu.memory.count > 0 && (smallest.count == 0 || gpu.memory < smallest))
            smallest = gpu.memory;
        if (gpu.model.empty()) continue;
        const std::string value = label_value(gpu.model);
        model = model && *model != value ? "mixed" : value;
    }
    return {{std::string(kGpuCountLabel), std::to_string(node.gpus.size())},
            {std::string(kGpuModelLabel), model.value_or("")},
            {std::string(kGpuMemoryLabel),
             smallest.count > 0 ? std::to_string(smallest.count / kMiB) : ""}};
}

}  // namespace tessera

#include "wire/kube/published_node_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "domain/cluster/node_labels.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

// The amounts come first in a removal, so one of these is there until all is removed.
constexpr auto kAnnotations = std::to_array<std::string_view>({key::kGpus, key::kDriver});
constexpr auto kLabels =
    std::to_array<std::string_view>({kGpuCountLabel, kGpuModelLabel, kGpuMemoryLabel});

template <class Keys>
std::vector<std::string> found(JsonValue object, const Keys& keys) {
    std::vector<std::string> out;
    for (const auto& [key, value] : object.members()) {
        if (std::ranges::find(keys, key) != std::ranges::end(keys)) out.emplace_back(key);
    }
    return out;
}

}  // namespace

PublishedNode read_published_node(JsonValue node) {
    const JsonValue metadata = node["metadata"];
    PublishedNode out{.name = NodeName(metadata["name"].text_or("")),
                      .annotations = found(metadata["annotations"], kAnnotations)};
    if (out.annotations.empty()) return out;
    out.labels = found(metadata["labels"], kLabels);
    const JsonValue capacity = node["status"]["capacity"];
    out.amounts = found(capacity, published_resources(all_dialects()));
    std::erase_if(out.amounts,
                  [&](const std::string& name) { return capacity[name].text_or("") == "0"; });
    return out;
}

std::string write_amounts_removal(std::span<const std::string> amounts) {
    JsonWriter w;
    const auto remove = [&] {
        for (const std::string& name : amounts)
            w.raw_member(name, "null");
    };
    w.object([&] {
        w.object("status", [&] {
            w.object("capacity", remove);
            w.object("allocatable", remove);
        });
    });
    return w.take();
}

}  // namespace tessera

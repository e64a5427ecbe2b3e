// Snapshots as tests write them: nodes with cards by model and GiB, whose UUIDs are
// "NODE-0", "NODE-1", ...
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera::build {

inline SnapshotNode node(const std::string& name, std::vector<std::pair<const char*, int>> cards) {
    SnapshotNode out{.name = name, .host = {8'000, gibibytes(64)}};
    for (const auto& [model, gib] : cards) {
        out.cards.push_back({.model = model,
                             .memory = gibibytes(gib),
                             .uuid = GpuUuid(name + "-" + std::to_string(out.cards.size()))});
    }
    return out;
}

// In namespace "s"; of whole cards where `gib` is 0.
inline SnapshotPod pod(const std::string& name, int gib, int gpus = 1, CardRuleTexts rules = {}) {
    SnapshotPod out{.name = {"s", name},
                    .created = name,
                    .card_rules = std::move(rules),
                    .asks = {{.gpus = gpus}}};
    if (gib > 0) out.asks[0].memory = {MemoryAsk::Kind::bytes, gibibytes(gib).count};
    return out;
}

// On one card of a node.
inline SnapshotPod on(SnapshotPod pod, const std::string& node, int card) {
    pod.node = node;
    const Bytes memory{pod.asks[0].memory.amount};
    const bool whole = pod.asks[0].memory.kind == MemoryAsk::Kind::whole_card;
    pod.holds = {{ContainerKind::app, {{card, memory, pod.asks[0].cores, whole}}}};
    return pod;
}

}  // namespace tessera::build

#include "domain/scheduling/snapshot_builder.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace tessera {
namespace {

// Computes the row's values, except the position and the number of its GPUs.
void weigh(PlacementRow& row, const NodeInfo& node) {
    row.node = &node;
    row.unit = node.inventory.unit;
    row.open = node.blocked.empty() && !node.gpus.empty();
    row.has_nominees = !node.nominees.empty();
    row.largest = row.largest_free = row.spare = {};
    row.unusable = 0;
    row.mps = 0;
    for (const GpuState& gpu : node.gpus) {
        row.largest = std::max(row.largest, gpu.capacity);
        row.largest_free = std::max(row.largest_free, gpu.free_without_mps());
        row.spare += gpu.free_without_mps();
        row.unusable += gpu.usable ? 0 : 1;
        row.mps += gpu.mps_pods > 0 ? 1 : 0;
    }
    row.lowest_priority = std::numeric_limits<int>::max();
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        if (assigned_pod->stage == Stage::observed)
            row.lowest_priority = std::min(row.lowest_priority, assigned_pod->priority);
    }
}

// Puts a node at position `i`. Its row already has the position and the number of its GPUs.
void put(SnapshotPiece& piece, std::size_t i, NodeInfo node, std::uint64_t version) {
    piece.nodes[i] = std::make_shared<const NodeInfo>(std::move(node));
    std::ranges::copy(piece.nodes[i]->free, piece.free.begin() + piece.rows[i].first_gpu);
    weigh(piece.rows[i], *piece.nodes[i]);
    piece.rows[i].version = version;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(const Snapshot& snapshot, std::uint64_t versions)
    : versions_(versions),
      pieces_(snapshot.pieces()),
      index_(snapshot.index()),
      affinity_(snapshot.affinity()) {}

void SnapshotBuilder::set_nodes(std::vector<NodeInfo> nodes) {
    pieces_.clear();
    affinity_ = {};
    shown_affinity_.reset();
    for (const NodeInfo& node : nodes)
        keep_affinity(node, 1);
    std::vector<std::string> names;
    for (std::size_t first = 0; first < nodes.size(); first += SnapshotPiece::kNodes) {
        const auto piece = std::make_shared<SnapshotPiece>();
        const std::size_t count = std::min(SnapshotPiece::kNodes, nodes.size() - first);
        for (std::size_t i = 0; i < count; ++i) {
            NodeInfo& node = nodes[first + i];
            names.push_back(node.inventory.name.str());
            const auto gpus = static_cast<std::uint32_t>(node.free.size());
            piece->rows[i].first_gpu = static_cast<std::uint32_t>(piece->free.size());
            piece->rows[i].gpus = gpus;
            piece->free.resize(piece->free.size() + gpus);
            put(*piece, i, std::move(node), ++versions_);
        }
        pieces_.push_back(piece);
    }
    index_ = std::make_shared<const NameIndex>(names);
}

bool SnapshotBuilder::replace(NodeInfo node) {
    if (!index_) return true;
    const std::uint32_t position = index_->find(node.inventory.name.str());
    if (position == NameIndex::kNone) return true;
    Snapshot::PiecePtr& shown = pieces_[position / SnapshotPiece::kNodes];
    const std::size_t i = position % SnapshotPiece::kNodes;
    if (shown->rows[i].gpus != node.free.size()) return false;
    keep_affinity(*shown->nodes[i], -1);
    keep_affinity(node, 1);
    const auto piece = std::make_shared<SnapshotPiece>(*shown);
    put(*piece, i, std::move(node), ++versions_);
    shown = piece;
    return true;
}

void SnapshotBuilder::keep_affinity(const NodeInfo& node, int sign) {
    const auto note = [&](const std::optional<GpuGroup>& group, const PodUid& pod,
                          GpuAffinityIndex::As as) {
        if (!group) return;
        shown_affinity_.reset();
        if (sign > 0) {
            affinity_.add(*group, pod, as);
        } else {
            affinity_.remove(*group, pod, as);
        }
    };
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods)
        note(assigned_pod->affinity, assigned_pod->uid, GpuAffinityIndex::As::holder);
    for (const Nominee& nominee : node.nominees) {
        note(nominee.pod->containers.front().gpu.rules.affinity, nominee.pod->uid,
             GpuAffinityIndex::As::nominee);
    }
}

std::shared_ptr<const Snapshot> SnapshotBuilder::build(const UnobservedIndex& unobserved) {
    if (!shown_affinity_) shown_affinity_ = std::make_shared<const GpuAffinityIndex>(affinity_);
    return std::make_shared<const Snapshot>(pieces_, index_, unobserved, shown_affinity_);
}

}  // namespace tessera

// An immutable state of the cluster's GPUs and their pods at one moment. The state's owner
// publishes one after every change. A reader keeps its snapshot until its decision is made.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/cluster/assigned_pod.hpp"
#include "domain/cluster/gpu_affinity_index.hpp"
#include "domain/cluster/name_index.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_request.hpp"
#include "domain/cluster/unobserved_index.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// A pod with a reservation on a node (PendingPod::reserved_on).
struct Nominee {
    PodRequestPtr pod;
    // It was nominated before its turn in kube-scheduler's queue, so its reservation does not count
    // for pods of its priority that are as old or older.
    bool is_ahead = false;
};

struct NodeInfo {
    NodeInventory inventory;
    std::vector<GpuState> gpus;                  // parallel to inventory.gpus
    std::vector<Bytes> free;                     // GpuState::free_without_mps() of each GPU
    std::vector<TopologyGroup> topology_groups;  // of the GPUs (topology_groups.hpp)
    std::vector<AssignedPodPtr> assigned_pods;   // ascending by pod name, then uid
    // The highest priority first; then those that are not ahead of their turn; then the oldest
    // reservation.
    std::vector<Nominee> nominees;
    // How many more pods the node accepts, nominees not counted.
    std::int64_t free_pods = std::numeric_limits<std::int64_t>::max();
    NodeLoad load;  // for the placement engine (placement/engine_terms.hpp)
    // Why nothing may be placed here, even if it fits; else empty. It names no pod, so any reader
    // may see it.
    std::string blocked;
    // The pod that is the reason, if there is one, and the same text with its name (blocked_for).
    struct BlockedBy {
        PodName pod;
        std::string why;
    };
    std::optional<BlockedBy> blocked_by = {};

    [[nodiscard]] NodeGpus node_gpus() const {
        return {.gpus = inventory.gpus,
                .states = gpus,
                .free = free,
                .topology_groups = topology_groups,
                .unit = inventory.unit,
                .single_share = inventory.source == InventorySource::legacy,
                .is_guarded = inventory.shares == EnforcementMode::guard};
    }
};

// From here on a PlacementRow::version is of a plan (planned_snapshot.hpp).
inline constexpr std::uint64_t kFirstPlannedVersion = std::uint64_t{1} << 63U;

// The data of a node that placement reads for every request. The rows of neighbouring nodes are in
// one array, and so is the free memory of their GPUs. NodeInfo objects are scattered in memory, and
// loading them would be most of a request's cost (extender_bench).
struct PlacementRow {
    const NodeInfo* node = nullptr;  // at the same position
    std::uint32_t first_gpu = 0;     // in SnapshotPiece::free
    std::uint32_t gpus = 0;
    Bytes largest;       // capacity of a GPU
    Bytes largest_free;  // like `spare`, without GPUs with pods that use MPS
    Bytes spare;         // free on all GPUs; at equal scores the fuller node is better
    int unusable = 0;    // number of GPUs
    int mps = 0;         // number of GPUs with pods that use MPS
    int lowest_priority = std::numeric_limits<int>::max();  // of the observed pods
    MemoryUnit unit = MemoryUnit::gib;
    std::uint64_t version = 0;  // of the NodeInfo; no two NodeInfos have the same
    bool open = false;          // has GPUs and is not blocked
    bool has_nominees = false;  // NodeInfo::nominees is not empty
};

// Nodes at consecutive positions. Snapshots share the pieces that did not change between them. A
// change of one pod therefore copies one piece, not the cluster.
struct SnapshotPiece {
    static constexpr std::size_t kNodes = 64;

    std::array<PlacementRow, kNodes> rows;
    std::array<std::shared_ptr<const NodeInfo>, kNodes> nodes;
    std::vector<Bytes> free;  // of all their GPUs
};

class Snapshot {
  public:
    using NodePtr = std::shared_ptr<const NodeInfo>;
    using PiecePtr = std::shared_ptr<const SnapshotPiece>;

    Snapshot() = default;
    // The positions in `index` are those in `pieces`.
    Snapshot(std::vector<PiecePtr> pieces, std::shared_ptr<const NameIndex> index,
             UnobservedIndex unobserved, std::shared_ptr<const GpuAffinityIndex> affinity)
        : pieces_(std::move(pieces)),
          index_(std::move(index)),
          unobserved_(std::move(unobserved)),
          affinity_(std::move(affinity)) {}

    // NameIndex::kNone if the node is unknown.
    [[nodiscard]] std::uint32_t position(std::string_view name) const {
        return index_ ? index_->find(name) : NameIndex::kNone;
    }
    [[nodiscard]] std::vector<std::uint32_t> positions(
        std::span<const std::string_view> names) const {
        if (index_) return index_->find_all(names);
        return std::vector<std::uint32_t>(names.size(), NameIndex::kNone);
    }
    // Null if the node is unknown. The pointer is valid as long as this snapshot.
    [[nodiscard]] const NodeInfo* find(std::string_view name) const {
        const std::uint32_t at = position(name);
        return at == NameIndex::kNone ? nullptr : row(at).node;
    }
    [[nodiscard]] std::size_t node_count() const { return index_ ? index_->size() : 0; }
    // All positions are smaller.
    [[nodiscard]] std::size_t places() const { return pieces_.size() * SnapshotPiece::kNodes; }
    // The same object as in another snapshot if the same nodes are at the same positions.
    [[nodiscard]] const std::shared_ptr<const NameIndex>& index() const { return index_; }
    // The node must be known.
    [[nodiscard]] const PlacementRow& row(std::size_t position) const {
        return pieces_[position / SnapshotPiece::kNodes]->rows[position % SnapshotPiece::kNodes];
    }
    // Its NodeInfo::free.
    [[nodiscard]] std::span<const Bytes> free_of(std::size_t position) const {
        const PlacementRow& of = row(position);
        const std::span<const Bytes> all = pieces_[position / SnapshotPiece::kNodes]->free;
        return all.subspan(of.first_gpu, of.gpus);
    }

    // For a builder that goes on from this snapshot.
    [[nodiscard]] const std::vector<PiecePtr>& pieces() const { return pieces_; }
    [[nodiscard]] GpuAffinityIndex affinity() const {
        return affinity_ ? *affinity_ : GpuAffinityIndex();
    }
    [[nodiscard]] const UnobservedIndex& unobserved() const { return unobserved_; }

    // What a pod has that the API server has not shown as bound yet; null if there is nothing.
    [[nodiscard]] const AssignedPod* unobserved(const PodUid& uid) const {
        return unobserved_.find(uid);
    }

    [[nodiscard]] std::size_t unobserved_count() const { return unobserved_.size(); }

    // The pod, with the current value of GpuRules::joins.
    [[nodiscard]] PodRequest joined(PodRequest pod) const {
        for (ContainerRequest& container : pod.containers) {
            GpuRules& rules = container.gpu.rules;
            rules.joins =
                rules.affinity && affinity_ && affinity_->has_other(*rules.affinity, pod.uid);
        }
        return pod;
    }

    // Whether a pod of lower priority uses a GPU of any node.
    [[nodiscard]] bool anyone_below(int priority) const {
        return std::ranges::any_of(pieces_, [&](const PiecePtr& piece) {
            return std::ranges::any_of(piece->rows, [&](const PlacementRow& row) {
                return row.lowest_priority < priority;
            });
        });
    }

    // Ascending by name. Each call makes a new list: meant for callers that read all nodes now and
    // then.
    [[nodiscard]] std::vector<NodePtr> nodes() const {
        std::vector<NodePtr> out;
        for (const PiecePtr& piece : pieces_) {
            std::ranges::copy_if(piece->nodes, std::back_inserter(out),
                                 [](const NodePtr& node) { return node != nullptr; });
        }
        return out;
    }

  private:
    std::vector<PiecePtr> pieces_;
    std::shared_ptr<const NameIndex> index_;
    UnobservedIndex unobserved_;
    std::shared_ptr<const GpuAffinityIndex> affinity_;
};

}  // namespace tessera

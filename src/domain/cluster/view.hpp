// One immutable picture of the cluster's cards and who holds them. Published by the state's owner
// after every change; readers keep the one they took for as long as a decision lasts.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// How sure we are of a pod's hold on its cards.
enum class Stage {
    reserved,  // ours, in memory; the Binding is being written
    bound,     // the Binding was answered or is in doubt; the watch has not shown it yet
    seen,      // the API server showed the pod with this allocation
};

// A pod that holds shares on a node.
struct Tenant {
    PodUid uid;
    PodName name;
    Stage stage = Stage::reserved;
    Allocation allocation;
    std::vector<Hold> holds;

    friend bool operator==(const Tenant&, const Tenant&) = default;
};

using TenantPtr = std::shared_ptr<const Tenant>;

struct NodeView {
    NodeInventory inventory;
    std::vector<Card> cards;         // parallel to inventory.gpus
    std::vector<TenantPtr> tenants;  // ascending by pod name, then uid
    // Why nothing may be placed here although there may be room; empty when it may.
    std::string blocked;
};

// A pod that asks for GPUs and is on no node yet.
struct PendingPod {
    PodUid uid;
    PodName name;
    Result<PodRequest> request;
};

class ClusterView {
  public:
    using NodePtr = std::shared_ptr<const NodeView>;
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    using Index = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

    ClusterView() = default;
    // `index` maps the names of `nodes` to their positions.
    ClusterView(std::vector<NodePtr> nodes, std::shared_ptr<const Index> index)
        : nodes_(std::move(nodes)), index_(std::move(index)) {}

    // Null when the node is unknown. The pointer lives as long as this view.
    [[nodiscard]] const NodeView* find(std::string_view name) const {
        if (!index_) return nullptr;
        const auto at = index_->find(name);
        return at == index_->end() ? nullptr : nodes_[at->second].get();
    }

    // Ascending by name.
    [[nodiscard]] const std::vector<NodePtr>& nodes() const { return nodes_; }

  private:
    std::vector<NodePtr> nodes_;
    std::shared_ptr<const Index> index_;
};

}  // namespace tessera

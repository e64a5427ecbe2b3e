// Why a pod does not fit on a node: texts with numbers for the pod's user.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "domain/cluster/snapshot.hpp"
#include "domain/placement/gpu_constraints.hpp"
#include "domain/placement/unschedulable_reason.hpp"

namespace tessera {

// Why a pod does not fit. `never`: no pod that ends and no GPU that recovers on this node could
// change it.
struct FitError {
    bool never = false;
    std::string message;  // becomes kube-scheduler's message for the node
    UnschedulableReason reason = UnschedulableReason::no_gpu;
    Bytes most;  // the number in the text: the largest GPU (too_large) or the largest free share of
                 // the node
    MemoryUnit unit = MemoryUnit::gib;  // of the node

    friend bool operator==(const FitError&, const FitError&) = default;
};

// Explains one pod on nodes where Placer::try_node finds nothing. Slower than try_node.
class Explainer {
  public:
    // The request must outlive the explainer.
    explicit Explainer(const ContainerRequests& request);

    [[nodiscard]] FitError explain(const NodeGpus& node_gpus);
    // Nodes that are alike get the same text, which is stored once. The reference is valid as long
    // as the explainer.
    const FitError& explain(const PlacementRow& row);
    // One text for many nodes; `most` quotes the largest number of them.
    [[nodiscard]] std::string explain_many(const FitError& most) const;

  private:
    // Too few of the accepted GPUs have enough free.
    [[nodiscard]] FitError explain_room(std::span<const GpuState> gpus, MemoryUnit unit) const;
    // Whether pods with another isolation use a GPU.
    [[nodiscard]] bool lacks_isolation(const NodeGpus& node_gpus) const;
    // Too few GPUs are accepted, whatever is free on them; nothing if there are enough.
    [[nodiscard]] std::optional<FitError> explain_exclusion(const NodeGpus& node_gpus) const;

    // Numbers of GPUs in a set.
    struct Counts {
        int of_kind = 0;    // GPUs of an accepted model and UUID
        int with_room = 0;  // with enough free for a share of the container with the most GPUs
    };
    void count(const NodeGpus& node_gpus, std::size_t gpu, Counts& counts) const;
    // The same, and also if they are not linked as the pod requires.
    [[nodiscard]] FitError explain_links(const NodeGpus& node_gpus,
                                         std::span<const GpuState> admitted) const;

    // The values on which the FitError of a pod with one share in bytes depends.
    using Alike = std::tuple<std::size_t, MemoryUnit, std::int64_t, std::int64_t, int>;

    const ContainerRequests& request_;
    const bool one_share_;
    const bool only_memory_;
    GpuConstraints gpu_constraints_;
    std::map<Alike, FitError> explained_;
    std::map<std::string, FitError, std::less<>>
        worded_;  // for cases that Alike does not tell apart
};

}  // namespace tessera

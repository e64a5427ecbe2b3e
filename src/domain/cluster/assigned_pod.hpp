// A pod that has GPUs on a node.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

// How certain the cache is of a pod's allocation.
enum class Stage {
    assumed,   // in memory only; a Binding is being written
    bound,     // the last Binding was answered or is uncertain; no watch event has shown it yet
    observed,  // the API server showed the pod with this allocation
};

// One attempt to write a pod's Binding. The outcome of an attempt has no effect once there is a
// later attempt.
struct Attempt {
    PodUid pod;
    int number = 0;  // from 1

    friend bool operator==(const Attempt&, const Attempt&) = default;
};

// A pod with shares on a node.
struct AssignedPod {
    PodUid uid;
    PodName name;
    Stage stage = Stage::assumed;
    int attempt = 0;         // number of the last attempt; 0 if this controller made none
    bool uncertain = false;  // an earlier attempt may still bind the pod
    int priority = 0;        // spec.priority; valid in Stage::observed, like `terminating`
    bool terminating = false;
    Allocation allocation;
    std::optional<Allocation>
        resizing;  // the allocation that a resize may have written, or may still write
    std::vector<GpuAllocation> allocated;  // the larger of `allocation` and `resizing`
    std::vector<GpuGroup> groups;          // GpuRules::groups of the pod
    std::optional<GpuGroup> affinity;      // GpuRules::affinity

    friend bool operator==(const AssignedPod&, const AssignedPod&) = default;
};

using AssignedPodPtr = std::shared_ptr<const AssignedPod>;

// Adds what a pod has to the states of the GPUs, or removes it (`sign` -1). `states` is parallel to
// `gpus`. Shares of a GPU that the node does not have are not counted.
void count_allocated(const AssignedPod& assigned_pod, std::span<const Gpu> gpus,
                     std::span<GpuState> states, int sign);

}  // namespace tessera

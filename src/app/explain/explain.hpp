// Why a pod is, or would be, placed where it is: repeats the controller's own decision on a
// snapshot of the cluster, and explains it node by node. No side effects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/explain/explain_scheduler.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/defrag/cluster_objects.hpp"
#include "domain/placement/engine/policy.hpp"

namespace tessera {

// A GPU that the pod would get.
struct GpuExplanation {
    GpuUuid uuid;
    int index = 0;
    std::string model;
    Bytes free;  // before the pod uses it

    friend bool operator==(const GpuExplanation&, const GpuExplanation&) = default;
};

struct NodeExplanation {
    NodeName node;
    bool fits = false;
    std::string why;  // why it does not fit; in the words of the scheduler's event
    // Of a node that fits: the highest is the best. For binpack: bytes left on the GPUs, negative.
    std::int64_t score = 0;
    bool scored = true;  // the policy has terms for the pod there, and the score comes from them
    std::vector<ScoreTerm> terms;
    std::vector<GpuExplanation> gpus;
};

struct PodExplanation {
    PodName pod;
    NodeName on;         // empty: the pod waits
    std::string policy;  // the option
    enum class Source { pod, option, controller, assumed } policy_source = Source::assumed;
    bool learns = false;     // the policy learns from the pods that arrive
    std::size_t learnt = 0;  // pods of the snapshot that it learnt from
    bool gated = false;      // by scheduling gates: it is not scheduled yet
    std::vector<std::string>
        unknown_annotations;  // sentences on annotations that Tessera does not know
    std::string gang;         // a sentence on its gang; empty: it has none
    SchedulerExplanation scheduler;
    // Nodes where it fits, the best first as filter would choose; then the others by name.
    std::vector<NodeExplanation> nodes;
};

// Explains the pod as though it were not placed yet, among all other pods as they are now.
// `standard` is the controller's policy (find_policy_option), for a pod that names none. Leaves
// `scheduler` empty. not_found: there is no such pod; conflict: it requests no GPU of Tessera, or
// has finished; invalid_argument: its request is invalid.
Result<PodExplanation> explain_pod(const defrag::ClusterObjects& objects, const PodName& pod,
                                   std::string_view standard);

}  // namespace tessera

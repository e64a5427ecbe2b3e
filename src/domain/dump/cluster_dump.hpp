// A cluster at one moment, for the simulator (docs/formats/snapshot.md): nodes with their GPUs, and
// the pods that request GPUs, with their requests and where they are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster/pod_info.hpp"

namespace tessera {

struct DumpGpu {
    std::string model;    // empty: not known
    Bytes memory;         // for all shares together (Gpu::capacity)
    Bytes over_limit;     // Gpu::over_limit
    bool healthy = true;  // Gpu::usable
    GpuUuid uuid;         // empty: not known
    GpuLinks links;       // by the GPUs' positions in DumpNode::gpus
    bool offers_mps = false;
    bool limits_memory = false;  // Gpu::limits_memory

    friend bool operator==(const DumpGpu&, const DumpGpu&) = default;
};

struct DumpNode {
    std::string name;
    MemoryUnit unit = MemoryUnit::gib;
    HostRequest host;           // for all pods together
    HostRequest others;         // taken by pods without GPUs
    bool closed = false;        // takes no new pods, even if they fit
    std::vector<DumpGpu> gpus;  // ascending index

    friend bool operator==(const DumpNode&, const DumpNode&) = default;
};

struct DumpRequest {
    ContainerKind kind = ContainerKind::app;
    int gpus = 1;
    MemoryRequest memory;  // of each GPU
    Percent cores;         // of each GPU

    friend bool operator==(const DumpRequest&, const DumpRequest&) = default;
};

// The part of a GPU that a container has.
struct DumpShare {
    int gpu = 0;  // position in DumpNode::gpus
    Bytes memory;
    Percent cores;
    bool whole = false;

    friend bool operator==(const DumpShare&, const DumpShare&) = default;
};

struct DumpAllocation {
    ContainerKind kind = ContainerKind::app;
    std::vector<DumpShare> shares;

    friend bool operator==(const DumpAllocation&, const DumpAllocation&) = default;
};

struct DumpPod {
    PodName name;
    std::string created;  // RFC 3339 in UTC; empty if it is not known
    std::string deleted;  // when its deletion began; empty if it was not deleted
    std::string node;     // empty: the pod is pending
    HostRequest host;
    std::optional<GangMembership> gang;     // of the pod's namespace
    bool chooses_nodes = false;             // by nodeSelector or node affinity
    GpuRuleTexts gpu_rules;                 // unparsed, see parse_gpu_rules()
    std::vector<DumpRequest> requests;      // per container with GPUs, in start order
    std::vector<DumpAllocation> allocated;  // per container; empty while the pod is pending

    friend bool operator==(const DumpPod&, const DumpPod&) = default;
};

// The number of pods with GPUs that a snapshot leaves out, by reason.
struct DumpOmission {
    int gated = 0;    // pending, with scheduling gates
    int ending = 0;   // pending and being deleted
    int faulty = 0;   // pending, with an invalid request
    int unknown = 0;  // on a node, and it is not known on which GPUs

    [[nodiscard]] int pods() const { return gated + ending + faulty + unknown; }
    friend bool operator==(const DumpOmission&, const DumpOmission&) = default;
};

struct ClusterDump {
    std::string taken;            // RFC 3339 in UTC
    bool tells_gpu_rules = true;  // false: written by a release without rules and UUIDs
    bool tells_links = true;      // false: written by a release without links
    std::vector<DumpNode> nodes;
    std::vector<DumpPod> pods;
    DumpOmission left_out;

    friend bool operator==(const ClusterDump&, const ClusterDump&) = default;
};

// A node and a pod as they were read.
struct SeenNode {
    NodeInventory inventory;
    bool closed = false;
};
struct SeenPod {
    PodInfo info;
    std::string deleted;
    bool chooses_nodes = false;
};

// Includes nodes without GPUs: only pods without GPUs may be on them. Leaves out pods that are
// finished or request no GPU, and counts those of DumpOmission. A pod whose GPUs are not known
// closes its node (ClusterState). If the annotations of a running pod have become invalid, they
// count as absent.
ClusterDump dump_of(std::span<const SeenNode> nodes, std::span<const SeenPod> pods);

// For people: "3 pods with GPUs are left out: 2 with scheduling gates, ..."; empty if there are
// none.
std::string left_out_text(const DumpOmission& left_out);

// Replaces the names of nodes, pods, namespaces, gangs, GPUs (UUIDs) and groups of rules by
// "node-1", "pod-1", "namespace-1", "gang-1", "GPU-1", "group-1", ... Models keep their names.
ClusterDump anonymous(ClusterDump dump);

}  // namespace tessera

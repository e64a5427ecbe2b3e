// What `tessera doctor` reads of a cluster before it judges. A fact that could not be read carries
// the error; permission_denied then names the missing permission, as "get leases in
// tessera-system".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/string_map.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/leadership/lease.hpp"

namespace tessera::doctor {

// A Deployment or DaemonSet of Tessera.
struct Workload {
    int wanted = 0;
    int ready = 0;
    std::string image;
    bool signs = false;         // has --allocation-key-file
    std::string runtime_class;  // of its pods
    bool is_privileged = false;
    int outdated = 0;     // of a DaemonSet: pods of an older version of it
    int unavailable = 0;  // of a Deployment: pods that run or start, and are not available
    std::string tenants_runtime_class;  // --webhook-runtime-class
    std::string startup_taint;          // --startup-taint
    std::string nominate_for;           // --nominate-for
    std::int64_t nominate_from = 2000;  // --nominate-from, and its default
    bool custom_metrics = false;        // --custom-metrics=true
    // Of a DaemonSet: the names in --node-configs. If they cannot be read, no agent starts.
    Result<std::set<std::string>> node_configs;
};

// The Lease, read twice with an interval of some renewals.
struct LeaseLook {
    Lease lease;
    bool renewed = false;  // between the two reads
};

struct Node {
    NodeInventory inventory;
    bool has_report = false;   // the annotation tessera.dev/gpus
    bool wants_agent = false;  // the DaemonSet's selector selects it
    bool agent_ready = false;  // a pod of the DaemonSet is ready there
    std::int64_t slots = 0;    // allocatable tessera.dev/gpu-share
    std::string agent_config;  // the label tessera.dev/agent-config
    StringMap labels;
    std::set<std::string> taints;  // their keys
    // Capacities by which another plugin assigns GPUs (nvidia.com/gpu), without those that are 0.
    std::map<std::string, std::int64_t> foreign_amounts;
    std::string runtime;   // "containerd://2.3.7", as the Node reports it
    std::string identity;  // how its agent identifies containers: "nri" or "kubelet"
};

// What a container runs. Without a command it is the one of the image.
struct Program {
    std::string image;
    std::string command;  // the container's name, its command and its arguments

    friend bool operator==(const Program&, const Program&) = default;
};

struct Pod {
    PodInfo info;
    std::string scheduler;  // spec.schedulerName
    bool has_signature =
        false;  // the annotation exists; if there is a key, the signature was checked, too
    std::vector<Program> programs;
    std::string runtime_class;  // spec.runtimeClassName; empty: the node's default handler
    // The resources of its containers by which other products assign GPUs.
    std::set<std::string> foreign_requests;
};

struct Policy {
    std::string name;
    bool exists = false;
    bool denies = false;  // its binding has the action Deny
};

// A DRA driver publishes devices of a node.
struct Slice {
    std::string driver;
    NodeName node;

    friend auto operator<=>(const Slice&, const Slice&) = default;
};

// A ResourceClaim to which a device was allocated. `pool`: of the device. NVIDIA's driver names the
// pool after the node (cmd/gpu-kubelet-plugin/driver.go).
struct Claim {
    std::string name;  // NAMESPACE/NAME
    std::string driver;
    std::string pool;

    friend auto operator<=>(const Claim&, const Claim&) = default;
};

// What a ClusterPolicy of NVIDIA's GPU Operator sets.
struct GpuOperator {
    std::string policy;                // its name
    bool has_nri_plugin = false;       // cdi.nriPluginEnabled
    bool refuses_environment = false;  // of the toolkit: for containers that are not privileged
};

// An event by which an agent says that it cannot vouch for a pod's GPU share. Events are kept for
// one hour.
struct ShareReport {
    PodUid pod;
    std::string reason;  // one of kShareReports
};

// The answers of the agents that listen on a port (agent.listen of the Helm chart).
struct AskedAgents {
    struct Silent {
        NodeName node;
        std::string reason;  // why it did not answer
    };
    int answered = 0;
    std::vector<Silent> silent;
};

// An APIService of custom.metrics.k8s.io.
struct MetricsApi {
    std::string name;
    std::string service;  // NAMESPACE/NAME; empty: the API server itself
    bool is_available = false;
    std::string reason;  // why it is not available

    friend bool operator==(const MetricsApi&, const MetricsApi&) = default;
};

struct Certificate {
    std::string where;
    Result<std::int64_t> ends_s;  // when it expires, in seconds since 1970
};

struct Facts {
    std::string own_version;
    std::int64_t now_s = 0;
    std::string ns;  // Tessera's namespace
    std::string server;
    Result<std::string> api_version;
    Result<Workload> controller;
    Result<Workload> agents;
    Result<LeaseLook> lease;
    Result<std::vector<Node>> nodes;
    Result<std::vector<Pod>> pods;  // of all namespaces
    // Without duplicates. Empty if the API server does not serve ResourceSlices (before Kubernetes
    // 1.32).
    Result<std::vector<Slice>> slices;
    // Without duplicates. Empty, likewise.
    Result<std::vector<Claim>> claims;
    Result<std::vector<GpuOperator>> operators;  // empty: not installed
    Result<std::set<std::string>> runtime_classes;
    // Nothing if there is no such Secret; else whether the key can be used.
    Result<std::optional<Result<>>> key;
    Result<std::vector<Policy>> policies;
    // --config and the rest of each kube-scheduler's command, if the kube-schedulers run as pods.
    Result<std::vector<std::vector<std::string>>> scheduler_commands;
    Result<std::vector<Certificate>> certificates;
    Result<std::vector<ShareReport>> reports;
    // Without agents that this user may not call.
    Result<AskedAgents> asked;
    // If the controllers serve custom metrics.
    Result<std::vector<MetricsApi>> metrics_apis{};
    // The DaemonSet of tessera-mps; not_found while MPS is off.
    Result<Workload> mps = fail(Code::not_found, "");
};

}  // namespace tessera::doctor

// What `tessera doctor` reads of a cluster before it judges. What could not be read carries the
// error; permission_denied then says which right is missing, as "get leases in tessera-system".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/leadership/lease.hpp"

namespace tessera::doctor {

// A Deployment or DaemonSet of ours.
struct Workload {
    int wanted = 0;
    int ready = 0;
    std::string image;
    bool signs = false;  // has --allocation-key-file
};

// The Lease, looked at twice, some renewals apart.
struct LeaseLook {
    Lease lease;
    bool renewed = false;  // in between
};

struct Node {
    NodeInventory inventory;
    bool has_report = false;   // the annotation tessera.dev/gpus
    bool wants_agent = false;  // the DaemonSet's selector names it
    bool agent_ready = false;  // a pod of ours runs there and is ready
    std::int64_t slots = 0;    // tessera.dev/gpu, allocatable
    // Capacities by which another plugin gives cards out (nvidia.com/gpu), but for those of 0.
    std::map<std::string, std::int64_t> foreign_amounts;
    std::string runtime;   // "containerd://2.3.7", as the node shows it
    std::string identity;  // how its agent identifies containers: "nri" or "kubelet"
};

struct Pod {
    PodFacts facts;
    std::string scheduler;       // spec.schedulerName
    bool has_signature = false;  // the annotation; with a key it was checked, too
    std::vector<std::string> images;
    std::string runtime_class;  // spec.runtimeClassName; empty: the node's default handler
};

struct Policy {
    std::string name;
    bool exists = false;
    bool denies = false;  // a binding says Deny
};

// A DRA driver offers devices of a node.
struct Slice {
    std::string driver;
    NodeName node;

    friend auto operator<=>(const Slice&, const Slice&) = default;
};

// What an agent told of a pod whose share of a card it cannot vouch for, within the hour for which
// events are kept.
struct ShareTrouble {
    PodUid pod;
    std::string reason;  // of kShareTroubles
};

// Of the agents that have a port to be asked on (deploy/listening).
struct AskedAgents {
    struct Silent {
        NodeName node;
        std::string reason;  // why it gave no answer
    };
    int answered = 0;
    std::vector<Silent> silent;
};

struct Certificate {
    std::string where;
    Result<std::int64_t> ends_s;  // since 1970
};

struct Facts {
    std::string own_version;
    std::int64_t now_s = 0;
    std::string space;  // Tessera's namespace
    std::string server;
    Result<std::string> api_version;
    Result<Workload> controller;
    Result<Workload> agents;
    Result<LeaseLook> lease;
    Result<std::vector<Node>> nodes;
    Result<std::vector<Pod>> pods;  // of all namespaces
    // Each once. None where the API server does not serve them (before Kubernetes 1.32).
    Result<std::vector<Slice>> slices;
    // Nothing where there is no such Secret; else whether the key can be used.
    Result<std::optional<Result<>>> key;
    Result<std::vector<Policy>> policies;
    // --config and the rest of each kube-scheduler's command, where they run as pods.
    Result<std::vector<std::vector<std::string>>> scheduler_commands;
    Result<std::vector<Certificate>> certificates;
    Result<std::vector<ShareTrouble>> troubles;
    // Without those that one may not ask.
    Result<AskedAgents> asked;
};

}  // namespace tessera::doctor

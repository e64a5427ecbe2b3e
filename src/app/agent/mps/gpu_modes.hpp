// Which GPUs of the node are in MPS mode: those with pods that use MPS. Such a GPU has a control
// daemon (tessera-mps), and admits no program but the clients of that daemon. The controller never
// places pods with MPS and others on one GPU, so a GPU changes its mode only while it is empty.
//
// It tells tessera-mps which daemons are wanted, from what the watch shows of the node's pods and
// from the containers that started. It keeps no state that must survive.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/mps/mps_report.hpp"
#include "ports/clock.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/mps/mps_daemons.hpp"

namespace tessera {

// All outlive the GpuModes.
struct GpuModesPorts {
    MpsDaemons& daemons;
    const MpsGrants& started;
    Clock& clock;
};

class GpuModes {
  public:
    static constexpr std::chrono::seconds kPeriod{1};  // in which apply() is called
    // How long a container's start waits for its GPU; kubelet allows 30 s.
    static constexpr std::chrono::seconds kLongestWait{15};

    GpuModes(GpuModesPorts ports, NodeName node) : ports_(ports), node_(std::move(node)) {}

    // Takes what the watch showed of the node's pods. Any thread.
    void take(const PodChanges& changes);
    // Says which daemons are wanted now. Call it from one thread only.
    void apply();

    // Whether a container with these GPUs may start now. `container` is of the pod's allocation,
    // `gpus` are its GPUs in the same order. unavailable, with a text for the pod's event: a GPU
    // changes its mode, or its daemon does not serve. Any thread.
    [[nodiscard]] Result<> check(const ContainerAllocation& container,
                                 std::span<const Gpu> gpus) const;
    // Waits until check() holds for all containers of a pod that the watch has shown, or for
    // kLongestWait. Any thread.
    void wait_for(const PodUid& pod) const;

    // The GPUs that are in MPS mode, or that enter or leave it. Any thread.
    [[nodiscard]] std::vector<GpuUuid> gpus() const { return ports_.daemons.gpus(); }
    // For `tessera mps status`. Any thread.
    [[nodiscard]] MpsReport report() const;
    // Whether pods with MPS can be served. Any thread.
    [[nodiscard]] bool offers_mps() const { return ports_.daemons.is_supervised(); }

  private:
    // What the pods and containers of the node need, at one moment.
    struct Needs {
        std::vector<MpsGrant> grants;
        std::set<GpuUuid> others;  // GPUs with pods that do not use MPS
        bool is_complete = false;  // all pods are known
    };

    [[nodiscard]] Needs needs() const;
    Result<> apply(const GpuUuid& gpu, const Needs& all);
    [[nodiscard]] Result<> check_free(const Gpu& gpu) const;
    [[nodiscard]] Result<> check_served(const MpsGrant& grant, const Gpu& gpu) const;
    [[nodiscard]] Result<> check(const Allocation& allocation) const;
    void report(const GpuUuid& gpu, const Error& error);

    const GpuModesPorts ports_;
    const NodeName node_;
    mutable Mutex mutex_;
    std::map<PodUid, Allocation> pods_ TESSERA_GUARDED_BY(mutex_);  // of this node, not over
    bool is_listed_ TESSERA_GUARDED_BY(mutex_) = false;             // the watch has shown all pods
    std::map<GpuUuid, std::string> said_;  // of apply's thread: the last logged errors
};

}  // namespace tessera

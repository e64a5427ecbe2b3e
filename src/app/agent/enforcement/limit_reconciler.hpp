// Applies resizes to running containers. It takes what a watch shows of this node's pods, and gives
// the containers of resized pods the limits that their allocation has now. When a container starts
// again, the runtime passes an older allocation: the one from the creation of the pod's sandbox. So
// the newest allocation is kept on the node (ResizedAllocations::keep) before any limit changes.
//
// The limits are applied again every kApply, because a container may have been created meanwhile
// with an older allocation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <stop_token>
#include <string>

#include "app/agent/enforcement/enforcers.hpp"
#include "base/mutex.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/shares/resized_allocations.hpp"

namespace tessera {

class LimitReconciler {
  public:
    static constexpr std::chrono::seconds kApply{2};

    // `resized` outlives this.
    LimitReconciler(Enforcers enforcers, ResizedAllocations& resized, NodeName node)
        : enforcers_(std::move(enforcers)), kept_(resized), node_(std::move(node)) {}

    // Runs apply() after each change and every kApply, until `stop`.
    void run(const std::stop_token& stop);

    // Takes what the watch showed, or the error that stopped it. Any thread.
    void take(const PodChanges& changes);
    void take_error(const Error& error) { report({}, error); }
    // Applies the newest limits. Call it from one thread only.
    void apply();

  private:
    void apply(const Allocation& shown);
    Result<Allocation> keep(const Allocation& shown);
    void report(const PodUid& pod, const Error& error);

    const Enforcers enforcers_;
    ResizedAllocations& kept_;
    const NodeName node_;

    Mutex mutex_;
    std::condition_variable_any changed_;
    bool has_changed_ TESSERA_GUARDED_BY(mutex_) = false;
    // The newest of each pod.
    std::map<PodUid, Allocation> resized_ TESSERA_GUARDED_BY(mutex_);
    // The last logged error of each pod; empty uid: of the watch.
    std::map<PodUid, std::string> said_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

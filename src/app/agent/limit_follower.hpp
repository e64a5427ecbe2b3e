// Takes what a watch shows of the pods of this node, and lets the containers of those that were
// resized have what their allocation says now, while they run. What the runtime tells when a
// container starts again is older: the allocation of the moment when the pod's sandbox was made. So
// the newest one is kept on the node (LiveLimits::keep), before anything is changed by it.
//
// What is to be is done again every kApply: a container may have been made meanwhile, by what was
// known before.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>

#include "ports/kube_api.hpp"
#include "ports/live_limits.hpp"

namespace tessera {

class LimitFollower {
  public:
    static constexpr std::chrono::seconds kApply{2};

    // The limits outlive it.
    LimitFollower(LiveLimits& limits, NodeName node) : limits_(limits), node_(std::move(node)) {}

    // Until `stop`.
    void run(const std::stop_token& stop);

    // What the watch showed, and why it shows nothing. Any thread.
    void take(const PodChanges& changes);
    void take_trouble(const Error& error) { report({}, error); }
    // One thread.
    void apply();

  private:
    void apply(const Allocation& shown);
    Result<Allocation> keep(const Allocation& shown);
    void report(const PodUid& pod, const Error& error);

    LiveLimits& limits_;
    const NodeName node_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool has_changed_ = false;              // guarded by mutex_, like the next
    std::map<PodUid, Allocation> resized_;  // the newest of each; guarded by mutex_, like the next
    std::map<PodUid, std::string> said_;    // the last trouble of each; no pod: of the watch
};

}  // namespace tessera

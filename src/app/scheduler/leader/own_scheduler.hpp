// In scheduler mode each pod has a kube-scheduler and a controller, and kube-scheduler asks the
// controller of its own pod. So the controller should lead where kube-scheduler leads. This only
// decides which controllers are candidates: their own Lease, and its fence, still decide which one
// may write (election.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "ports/kube/lease_store.hpp"

namespace tessera {

// Used by one thread.
class OwnScheduler {
  public:
    // `lease`: kube-scheduler's Lease; outlives this. `host`: the host name of this pod, with which
    // kube-scheduler's identity begins (HOST_UUID; k8s.io/kubernetes, cmd/kube-scheduler).
    OwnScheduler(LeaseStore& lease, std::string_view host)
        : lease_(lease), holder_prefix_(std::string(host) + "_") {}

    // Whether the kube-scheduler of this pod holds its Lease. While the API server does not answer,
    // the last answer stays.
    bool leads() {
        const auto found = lease_.read();
        if (found) {
            leads_ = *found && (*found)->holder.starts_with(holder_prefix_);
        } else {
            log_event(Event::lease_error, {{"reason", found.error().text}});
        }
        return leads_;
    }

  private:
    LeaseStore& lease_;
    const std::string holder_prefix_;
    bool leads_ = false;
};

}  // namespace tessera

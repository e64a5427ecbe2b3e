// Keeps the Node object in the API server as the agent last said it should be. It has a thread of
// its own: a server that does not answer must not keep faults from being read (ports/kube_api.hpp:
// each call may last its whole deadline).
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "domain/cluster/node.hpp"
#include "ports/kube_api.hpp"

namespace tessera {

struct NodePublisherOptions {
    // Published: how containers are recognised, and how they are held to their shares.
    std::string identity;
    Holding shares = Holding::none;
    // How often the node object is compared with what we published: kubelet may reset amounts that
    // it does not count itself when it registers the node anew.
    std::chrono::milliseconds check_period{30'000};
    std::chrono::milliseconds retry_period{5'000};  // after a failure
};

class NodePublisher {
  public:
    NodePublisher(KubeApi& kube, NodePublisherOptions options);

    // What the node is to show from now on. Does not wait for the server; of several, the last one
    // is written. Any thread. `is_released`: the agent has let go of the driver.
    void show(std::shared_ptr<const NodeInventory> node, bool is_released = false);
    // The node object is compared now: kubelet has restarted. Any thread.
    void check_soon();
    // The label with which the Node asked, when it was last compared, to let go of the driver
    // (driver_release.hpp); empty where it did not. Any thread.
    [[nodiscard]] std::string release_label() const;
    // Publishes until `stop`. A call under way is waited for.
    void run(const std::stop_token& stop);
    // Once, in the caller's thread; false when it has to be tried again. Not beside run().
    bool publish_now();

  private:
    bool publish(const NodeInventory& node, bool is_released);

    KubeApi& kube_;
    const NodePublisherOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    std::shared_ptr<const NodeInventory> wanted_;  // guarded by mutex_
    bool is_released_ = false;                     // guarded by mutex_
    std::string release_label_;                    // guarded by mutex_
    bool due_ = false;                             // guarded by mutex_: compare without waiting
};

}  // namespace tessera

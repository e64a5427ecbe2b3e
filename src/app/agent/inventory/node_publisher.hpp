// Keeps the Node object in the API server in the state that the agent last set. It has its own
// thread, so that the agent still reads faults while the server does not answer
// (ports/kube/kube_api.hpp: each call may last its whole deadline).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "domain/cluster/node.hpp"
#include "domain/dialect/dialect.hpp"
#include "ports/kube/kube_api.hpp"

namespace tessera {

struct NodePublisherOptions {
    // Published: how containers are identified, and how their shares are enforced.
    std::string identity;
    EnforcementMode shares = EnforcementMode::none;
    const Dialects* dialects = &all_dialects();  // whose amounts the node shows; outlives this
    // How often the Node object is compared with what we published: kubelet may reset amounts that
    // it does not count itself when it registers the node again.
    std::chrono::milliseconds check_period{30'000};
    std::chrono::milliseconds retry_period{5'000};  // after a failure
    // Called with the Node's labels after each comparison, by the thread that publishes. If it
    // returns false, nothing is written.
    std::function<bool(const StringMap& labels)> on_labels = {};
};

class NodePublisher {
  public:
    NodePublisher(KubeApi& kube, NodePublisherOptions options);

    // Sets what the Node shows from now on. Does not wait for the server; of several calls, only
    // the last state is written. Any thread. `is_released`: the agent has released the driver.
    void show(std::shared_ptr<const NodeInventory> node, bool is_released = false);
    // Makes run() compare the Node object now, because kubelet has restarted. Any thread.
    void check_soon();
    // The label that asked to release the driver (driver_release.hpp), as of the last comparison;
    // empty if there was none. Any thread.
    [[nodiscard]] std::string release_label() const;
    // Whether the Node shows what was last set, as far as is known. Any thread.
    [[nodiscard]] bool is_published() const;
    // Publishes until `stop`. It waits for a call that is under way.
    void run(const std::stop_token& stop);
    // Publishes once, in the caller's thread; false if it must be tried again. Not while run()
    // runs.
    bool publish_now();

  private:
    bool publish(const NodeInventory& node, bool is_released);

    KubeApi& kube_;
    const NodePublisherOptions options_;
    mutable Mutex mutex_;
    std::condition_variable_any wake_;
    std::shared_ptr<const NodeInventory> wanted_ TESSERA_GUARDED_BY(mutex_);
    bool is_released_ TESSERA_GUARDED_BY(mutex_) = false;
    std::string release_label_ TESSERA_GUARDED_BY(mutex_);
    bool due_ TESSERA_GUARDED_BY(mutex_) = false;  // compare without waiting
    // What was last written or compared without an error.
    std::shared_ptr<const NodeInventory> published_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

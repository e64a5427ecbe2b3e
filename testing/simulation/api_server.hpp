// The API server: objects, and the log of their changes that watches read. It follows the rules
// that Tessera relies on (ports/kube/kube_api.hpp):
// - A Binding is refused for another uid and for a bound pod (409), and for a missing pod (404).
// - A Binding merges its annotations into the pod in the same step.
// - A pod with a deletionTimestamp stays until kubelet reports that its containers are gone.
// - A name may be used again, a uid may not.
// Every call takes effect at once. The callers simulate delays.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/leadership/lease.hpp"
#include "ports/kube/kube_api.hpp"
#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

struct PodObject {
    PodInfo info;
    StringMap annotations;
    bool guarded = false;  // a PodDisruptionBudget allows no disruption
};
struct NodeObject {
    NodeInventory inventory;  // as read_node() understands the object
    StringMap annotations;
    StringMap amounts;
    StringMap labels = {};
};
using PodPtr = std::shared_ptr<const PodObject>;
using NodePtr = std::shared_ptr<const NodeObject>;

// One entry of a log: the object after the change, or before it if it was deleted.
template <class Object>
struct Change {
    std::shared_ptr<const Object> object;
    bool deleted = false;
};

class ApiServer {
  public:
    explicit ApiServer(Scene& scene) : scene_(scene) {}

    using PodLog = std::vector<Change<PodObject>>;
    using NodeLog = std::vector<Change<NodeObject>>;
    // A position is the number of changes before it.
    [[nodiscard]] const PodLog& pod_log() const { return pod_log_; }
    [[nodiscard]] const NodeLog& node_log() const { return node_log_; }
    [[nodiscard]] const std::map<PodName, PodPtr>& pods() const { return pods_; }
    [[nodiscard]] const std::map<NodeName, NodePtr>& nodes() const { return nodes_; }

    // Listeners are called with each change, in order. They live as long as the server.
    void on_pod(std::function<void(const Change<PodObject>&)> listener);
    void on_node(std::function<void(const Change<NodeObject>&)> listener);

    // Wakes the waiter once, at the next change of any object.
    void wake_at_change(const Waiter& waiter) { sleepers_.push_back(waiter); }

    // False if the name is in use.
    bool create_pod(const PodObject& pod);
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations);
    [[nodiscard]] Result<PodPtr> pod(const PodName& name) const;
    // Null if it is gone, or if another pod has its name.
    [[nodiscard]] PodPtr pod(const PodName& name, const PodUid& uid) const;
    // Sets the deletionTimestamp of a bound pod; removes an unbound pod.
    void delete_pod(const PodName& name);
    // Deletes with a grace period of zero: called by kubelet after the containers are gone, or by a
    // user that force-deletes.
    void remove_pod(const PodName& name, const PodUid& uid);
    void finish_pod(const PodName& name, const PodUid& uid);
    // An Eviction: false if a budget protects the pod. With `dry_run`, nothing changes.
    Result<bool> evict(const PodUid& uid, const PodName& pod, bool dry_run);
    // Sets status.nominatedNodeName of a pending pod; an empty name clears it. is_ahead: by the
    // field manager of nominations ahead of their turn, and only if the pod has no nomination.
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node, bool is_ahead);
    // Clears it if it is this name.
    Result<> withdraw(const PodUid& uid, const PodName& pod, const NodeName& node);
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }
    [[nodiscard]] std::uint64_t nominated() const { return nominated_; }
    // Pods that were bound to the node that they were nominated to.
    [[nodiscard]] std::uint64_t followed() const { return followed_; }

    void create_node(const NodeName& name);
    void delete_node(const NodeName& name);
    Result<> set_node_metadata(const NodeName& name, const StringMap& annotations,
                               const StringMap& labels);
    Result<> set_amounts(const NodeName& name, const StringMap& amounts);

    [[nodiscard]] const std::optional<Lease>& lease() const { return lease_; }
    Result<Lease> write_lease(Lease lease);

    // No request is answered before this time.
    Time silent_until{};

  private:
    void change(const PodPtr& pod, bool deleted);
    void change(const NodePtr& node, bool deleted);
    void wake_all();

    Scene& scene_;
    std::map<PodName, PodPtr> pods_;
    std::map<NodeName, NodePtr> nodes_;
    std::optional<Lease> lease_;
    int lease_version_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t nominated_ = 0;
    std::uint64_t followed_ = 0;
    std::vector<Waiter> sleepers_;
    PodLog pod_log_;
    NodeLog node_log_;
    std::vector<std::function<void(const Change<PodObject>&)>> pod_listeners_;
    std::vector<std::function<void(const Change<NodeObject>&)>> node_listeners_;
};

}  // namespace tessera::simulation

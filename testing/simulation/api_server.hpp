// The API server: objects, and the log of their changes that watches read. It keeps the rules that
// Tessera builds on (ports/kube_api.hpp): a Binding is refused for another uid and for a bound pod
// (409) and for one that is gone (404), and merges its annotations into the pod in the same step; a
// pod with a deletionTimestamp stays until kubelet says that its containers are gone; a name may be
// used again, a uid is not. Every call here takes effect at once: delays are the callers'.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/leadership/lease.hpp"
#include "ports/kube_api.hpp"
#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

struct PodObject {
    PodFacts facts;
    StringMap annotations;
    bool guarded = false;  // by a PodDisruptionBudget that allows no disruption
};
struct NodeObject {
    NodeInventory inventory;  // as read_node() understands the object
    StringMap annotations;
    StringMap amounts;
};
using PodPtr = std::shared_ptr<const PodObject>;
using NodePtr = std::shared_ptr<const NodeObject>;

// One entry of a log: the object as it was then, and whether it was removed.
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

    // Called with each change, in order. They live as long as the server.
    void on_pod(std::function<void(const Change<PodObject>&)> listener);
    void on_node(std::function<void(const Change<NodeObject>&)> listener);

    // Once, at the next change of anything.
    void wake_at_change(const Waiter& waiter) { sleepers_.push_back(waiter); }

    // False when the name is in use.
    bool create_pod(const PodObject& pod);
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations);
    [[nodiscard]] Result<PodPtr> pod(const PodName& name) const;
    // Null when it is gone, or its name is another's.
    [[nodiscard]] PodPtr pod(const PodName& name, const PodUid& uid) const;
    // Sets the deletionTimestamp of a bound pod; removes one that is bound nowhere.
    void delete_pod(const PodName& name);
    // With a grace period of zero: kubelet when the containers are gone, or an impatient user.
    void remove_pod(const PodName& name, const PodUid& uid);
    void finish_pod(const PodName& name, const PodUid& uid);
    // An Eviction: false where a budget keeps the pod. Nothing happens when it is `only_ask`.
    Result<bool> evict(const PodUid& uid, const PodName& pod, bool only_ask);
    // status.nominatedNodeName of a pod that waits; an empty name takes it back.
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node);
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

    void create_node(const NodeName& name);
    void delete_node(const NodeName& name);
    Result<> annotate_node(const NodeName& name, const StringMap& annotations);
    Result<> set_amounts(const NodeName& name, const StringMap& amounts);

    [[nodiscard]] const std::optional<Lease>& lease() const { return lease_; }
    Result<Lease> write_lease(Lease lease);

    // Nobody is answered before this moment.
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
    std::vector<Waiter> sleepers_;
    PodLog pod_log_;
    NodeLog node_log_;
    std::vector<std::function<void(const Change<PodObject>&)>> pod_listeners_;
    std::vector<std::function<void(const Change<NodeObject>&)>> node_listeners_;
};

}  // namespace tessera::simulation

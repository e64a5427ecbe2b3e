// An API server in memory, behind the KubeApi port. It follows the rules that Tessera relies on. A
// Binding is refused for another uid (409), for a bound pod (409) and for a missing pod (404). A
// Binding merges its annotations into the pod in the same step. Any thread may call.
//
// Only one fault is set at a time, and the next call uses it up. `lose_answer_after_write`: the
// connection breaks after the server did its work. `lose_answer_before_write`: it breaks before.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ports/kube/kube_api.hpp"

namespace tessera {

class FakeKubeApi final : public KubeApi {
  public:
    // Setup and faults.
    void put_node(const NodeInventory& node);
    void delete_node(const NodeName& name);
    void put_pod(const PodInfo& pod);
    void delete_pod(const PodName& name);

    void refuse_next_bind(Error error);
    void lose_answer_after_write();
    void lose_answer_before_write();
    void refuse_next_get(Error error);
    // While true, every call fails with `unavailable`.
    void set_down(bool down);
    // Called within bind(), before it decides, without the lock.
    void on_bind(std::function<void()> hook);
    // While paused, the watches show nothing; they show the changes later.
    void pause_watches(bool paused);

    // What tests inspect.
    struct Write {
        PodUid uid;
        PodName pod;
        NodeName node;
        StringMap annotations;
    };
    [[nodiscard]] std::vector<Write> bindings() const;  // the bind() calls, whatever their outcome
    [[nodiscard]] StringMap node_annotations(const NodeName& node) const;
    [[nodiscard]] StringMap node_resources(const NodeName& node) const;
    [[nodiscard]] int node_patches() const;  // set_node_metadata() calls that were carried out
    [[nodiscard]] int pod_reads() const;     // get_pod() calls
    // Removes the resources that kubelet does not count, as kubelet does when it registers its node
    // again.
    void reset_node_resources(const NodeName& node);

    // KubeApi.
    void follow_nodes(const std::function<void(NodeChanges)>& sink, const ErrorSink& on_error,
                      std::stop_token stop) override;
    void follow_pods(const std::function<void(PodChanges)>& sink, const ErrorSink& on_error,
                     std::stop_token stop) override;
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations) override;
    Result<PodInfo> get_pod(const PodName& pod) override;
    Result<std::vector<NodeInventory>> list_nodes() override;
    Result<std::vector<PodInfo>> list_pods(const NodeName& node) override;
    Result<std::vector<NodePod>> list_node_pods(const NodeName& node) override;
    // Replaces the labels of the node.
    void label_node(const NodeName& node, StringMap labels);
    // Sets the containers of this pod in list_node_pods().
    void put_setups(const PodUid& pod, std::vector<ContainerSetup> setups);
    Result<NodeShown> node_shows(const NodeName& node, const NodeWanted& wanted) override;
    Result<> set_node_metadata(const NodeName& node, const StringMap& annotations,
                               const StringMap& labels) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;

  private:
    Result<> write_binding(const Write& write);

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<NodeName, NodeInventory> nodes_;
    std::map<PodName, PodInfo> pods_;
    std::map<PodUid, std::vector<ContainerSetup>> setups_;
    std::map<NodeName, StringMap> annotations_;
    std::map<NodeName, StringMap> labels_;
    std::map<NodeName, StringMap> resources_;
    std::vector<NodeChanges> node_history_;  // every change; each watch continues at its position
    std::vector<PodChanges> pod_history_;
    std::vector<Write> bindings_;
    std::optional<Error> bind_error_;
    std::optional<Error> get_error_;
    enum class Lost { no, after_write, before_write };
    Lost lost_ = Lost::no;
    bool down_ = false;
    bool paused_ = false;
    int node_patches_ = 0;
    int pod_reads_ = 0;
    std::function<void()> on_bind_;
};

}  // namespace tessera

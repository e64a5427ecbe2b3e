// An API server in memory, behind the KubeApi port. It keeps the rules that Tessera builds on: a
// Binding is refused for another uid (409), for a bound pod (409) and for a pod that is gone (404),
// and it merges its annotations into the pod in the same step. Any thread may call.
//
// Faults are given one at a time and are used up by the next call: `lose_answer_after_write` is a
// connection cut after the server did its work, `lose_answer_before_write` one before.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ports/kube_api.hpp"

namespace tessera {

class FakeKubeApi final : public KubeApi {
  public:
    // What a test sets up and breaks.
    void put_node(const NodeInventory& node);
    void delete_node(const NodeName& name);
    void put_pod(const PodFacts& pod);
    void delete_pod(const PodName& name);

    void refuse_next_bind(Error error);
    void lose_answer_after_write();
    void lose_answer_before_write();
    void refuse_next_get(Error error);
    // While true, every call fails with `unavailable`.
    void set_down(bool down);
    // Called within bind(), before it decides; not under the lock.
    void on_bind(std::function<void()> hook);
    // From now on the watches show nothing; what they would have shown is kept back.
    void pause_watches(bool paused);

    // What a test looks at.
    struct Write {
        PodUid uid;
        PodName pod;
        NodeName node;
        StringMap annotations;
    };
    [[nodiscard]] std::vector<Write> bindings() const;  // the bind() calls, whatever their outcome
    [[nodiscard]] StringMap node_annotations(const NodeName& node) const;
    [[nodiscard]] StringMap node_resources(const NodeName& node) const;
    [[nodiscard]] int node_patches() const;  // annotate_node() calls that were carried out
    [[nodiscard]] int pod_reads() const;     // get_pod() calls
    // As kubelet does when it registers the node anew: resources that it does not count are gone.
    void reset_node_resources(const NodeName& node);

    // KubeApi.
    void follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                      std::stop_token stop) override;
    void follow_pods(const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                     std::stop_token stop) override;
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations) override;
    Result<PodFacts> get_pod(const PodName& pod) override;
    Result<std::vector<NodeInventory>> list_nodes() override;
    Result<std::vector<PodFacts>> list_pods(const NodeName& node) override;
    Result<std::vector<NodePod>> list_node_pods(const NodeName& node) override;
    // In place of what it had.
    void label_node(const NodeName& node, StringMap labels);
    // What list_node_pods() says of the containers of this pod.
    void put_setups(const PodUid& pod, std::vector<ContainerSetup> setups);
    Result<NodeShown> node_shows(const NodeName& node, const StringMap& annotations,
                                 const StringMap& amounts) override;
    Result<> annotate_node(const NodeName& node, const StringMap& annotations) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;

  private:
    Result<> write_binding(const Write& write);

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<NodeName, NodeInventory> nodes_;
    std::map<PodName, PodFacts> pods_;
    std::map<PodUid, std::vector<ContainerSetup>> setups_;
    std::map<NodeName, StringMap> annotations_;
    std::map<NodeName, StringMap> labels_;
    std::map<NodeName, StringMap> resources_;
    std::vector<NodeChanges> node_history_;  // every change; each watch reads on from its place
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

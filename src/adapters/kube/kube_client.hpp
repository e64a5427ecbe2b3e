// The KubeApi port, and others, over HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "domain/dialect/dialect.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kube/node_taints.hpp"
#include "ports/kube/pod_groups.hpp"
#include "ports/node_pods.hpp"
#include "wire/tessera/allocation_seal.hpp"
#include "wire/text/json.hpp"

namespace tessera {

class KubeClient final : public KubeApi, public NodePods, public PodGroups, public NodeTaints {
  public:
    // The time limit of a call about one object. A bind makes up to three such calls: the pod if it
    // is unknown, the Binding, and the pod again if the response was lost. kube-scheduler's timeout
    // (scheduler-config.yaml of the Helm chart) covers all of them.
    static constexpr std::chrono::milliseconds kOneObject{4'000};

    // `api` is the API server. With a seal, only allocations that it signed are accepted. Pods and
    // nodes are read in `dialects`. All outlive this.
    explicit KubeClient(HttpClient& api, const AllocationSeal* seal = nullptr,
                        const Dialects& dialects = all_dialects())
        : http_(api), seal_(seal), dialects_(dialects) {}

    void follow_nodes(const std::function<void(NodeChanges)>& sink, const ErrorSink& on_error,
                      std::stop_token stop) override;
    void follow_pods(const std::function<void(PodChanges)>& sink, const ErrorSink& on_error,
                     std::stop_token stop) override;
    void follow_pods_of(const NodeName& node, const std::function<void(PodChanges)>& sink,
                        const ErrorSink& on_error, std::stop_token stop) override;
    void follow_pod_groups(const std::function<void(PodGroupChanges)>& sink,
                           const ErrorSink& on_error, std::stop_token stop) override;
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations) override;
    Result<PodInfo> get_pod(const PodName& pod) override;
    Result<std::vector<NodeInventory>> list_nodes() override;
    Result<std::vector<PodInfo>> list_pods(const NodeName& node) override;
    Result<std::vector<NodePod>> list_node_pods(const NodeName& node) override;
    Result<NodeShown> node_shows(const NodeName& node, const NodeWanted& wanted) override;
    Result<> set_node_metadata(const NodeName& node, const StringMap& annotations,
                               const StringMap& labels) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;
    Result<TaintedNode> tainted_node(const NodeName& node) override;
    Result<> remove_taints(const NodeName& node, const TaintedNode& seen,
                           const std::string& key) override;

  private:
    void follow_pods_at(const std::string& path, const std::function<void(PodChanges)>& sink,
                        const ErrorSink& on_error, const std::stop_token& stop);
    void follow_pod_groups_at(const std::string& path,
                              const std::function<void(PodGroupChanges)>& sink,
                              const ErrorSink& on_error, const std::stop_token& stop);
    Result<JsonDocument> get(const std::string& path, std::chrono::milliseconds deadline,
                             const std::stop_token& stop = {});
    // As each_item().
    Result<std::string> each_page(const std::string& path, const ReadItem& read,
                                  const std::stop_token& stop = {});

    HttpClient& http_;
    const AllocationSeal* seal_;
    const Dialects& dialects_;
};

}  // namespace tessera

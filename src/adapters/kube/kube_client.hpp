// The KubeApi port over HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube_api.hpp"
#include "ports/node_pods.hpp"
#include "ports/pod_groups.hpp"
#include "wire/allocation_seal.hpp"
#include "wire/json.hpp"

namespace tessera {

class KubeClient final : public KubeApi, public NodePods, public PodGroups {
  public:
    // At most, for a call about one object. A bind makes up to three, one after another (the pod
    // where it is unknown, the Binding, the pod again where its answer was lost), and
    // kube-scheduler's patience (deploy/scheduler/config.yaml) is for all of them.
    static constexpr std::chrono::milliseconds kOneObject{4'000};

    // With a seal, which outlives the client, only allocations that it signed are believed.
    explicit KubeClient(HttpEndpoint endpoint, const AllocationSeal* seal = nullptr);
    ~KubeClient() override;

    void follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                      std::stop_token stop) override;
    void follow_pods(const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                     std::stop_token stop) override;
    void follow_pods_of(const NodeName& node, const std::function<void(PodChanges)>& sink,
                        const Trouble& trouble, std::stop_token stop) override;
    void follow_pod_groups(const std::function<void(PodGroupChanges)>& sink, const Trouble& trouble,
                           std::stop_token stop) override;
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations) override;
    Result<PodFacts> get_pod(const PodName& pod) override;
    Result<std::vector<NodeInventory>> list_nodes() override;
    Result<std::vector<PodFacts>> list_pods(const NodeName& node) override;
    Result<std::vector<NodePod>> list_node_pods(const NodeName& node) override;
    Result<NodeShown> node_shows(const NodeName& node, const StringMap& annotations,
                                 const StringMap& amounts) override;
    Result<> annotate_node(const NodeName& node, const StringMap& annotations) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;

  private:
    template <class Kind>
    void follow_all(const Kind& kind, const std::string& path,
                    const std::function<void(typename Kind::Changes)>& sink, const Trouble& trouble,
                    const std::stop_token& stop);
    void follow_pods_at(const std::string& path, const std::function<void(PodChanges)>& sink,
                        const Trouble& trouble, const std::stop_token& stop);
    Result<JsonDocument> get(const std::string& path, std::chrono::milliseconds deadline,
                             const std::stop_token& stop = {});
    template <class Read>
    Result<std::string> each_page(const std::string& path, const Read& read,
                                  const std::stop_token& stop = {});

    HttpClient http_;
    const AllocationSeal* seal_;
};

}  // namespace tessera

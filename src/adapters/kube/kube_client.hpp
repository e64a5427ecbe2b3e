// The KubeApi port over HTTP.
#pragma once

#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube_api.hpp"
#include "wire/json.hpp"

namespace tessera {

class KubeClient final : public KubeApi {
  public:
    explicit KubeClient(HttpEndpoint endpoint);
    ~KubeClient() override;

    void follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                      std::stop_token stop) override;
    void follow_pods(const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                     std::stop_token stop) override;
    Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                  const StringMap& annotations) override;
    Result<PodFacts> get_pod(const PodName& pod) override;
    Result<std::vector<NodeInventory>> list_nodes() override;
    Result<std::vector<PodFacts>> list_pods(const NodeName& node) override;
    Result<bool> node_shows(const NodeName& node, const StringMap& annotations,
                            const StringMap& amounts) override;
    Result<> annotate_node(const NodeName& node, const StringMap& annotations) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;

  private:
    Result<std::string> call(const HttpRequest& request);
    Result<JsonDocument> get(const std::string& path);
    template <class Read>
    Result<std::string> each_page(const std::string& path, const Read& read);

    HttpClient http_;
};

}  // namespace tessera

// The KubeApi port of one process: its line to the API server, with the delays and faults of a
// network between. Follows as adapters/kube/kube_client.cpp does: list, watch, resume where the
// watch was cut, list again after 410. Destroyed after the process was killed.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "testing/simulation/api_server.hpp"

namespace tessera::simulation {

class KubeLine final : public KubeApi {
  public:
    KubeLine(Scene& scene, ApiServer& server, std::string owner);
    // What was on its way from a dead process lands now or never, unless the run lets the dead
    // write later (Unpromised::write_of_the_dead).
    ~KubeLine() override;
    KubeLine(const KubeLine&) = delete;
    KubeLine& operator=(const KubeLine&) = delete;

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
    // A write whose caller waits no longer.
    struct Late {
        std::function<void()> write;  // empty once it has been carried out
    };
    enum class Kind { read, write };

    template <class T>
    Result<T> exchange(Kind kind, std::function<Result<T>()> serve);
    void write_later(std::function<void()> write);
    template <class Object, class Changes, class Take>
    void follow(const std::vector<Change<Object>>& log, const std::function<Changes()>& list,
                const Take& take, const std::function<void(Changes)>& sink, const Trouble& trouble,
                const std::stop_token& stop);
    template <class Object, class Changes, class Take>
    Result<> watch(const std::vector<Change<Object>>& log, std::size_t& position, const Take& take,
                   const std::function<void(Changes)>& sink);

    Scene& scene_;
    ApiServer& server_;
    const std::string owner_;
    std::list<std::shared_ptr<Late>> late_;
};

}  // namespace tessera::simulation

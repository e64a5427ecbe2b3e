// The KubeApi, LeaseStore, Evictions and Nominations ports of one process: its connection to the
// API server, with the delays and faults of a network. It follows objects like
// adapters/kube/kube_client.cpp: list, watch, resume a cut watch, list again after 410. Destroy it
// after the process was killed.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "ports/kube/evictions.hpp"
#include "ports/kube/lease_store.hpp"
#include "testing/simulation/api_server.hpp"

namespace tessera::simulation {

class FaultyKubeApi final : public KubeApi, public LeaseStore, public Evictions {
  public:
    FaultyKubeApi(Scene& scene, ApiServer& server, std::string owner);
    // If a Lease protects against it, the pending writes of the killed process may take effect
    // later. Without a Lease they take effect now or never
    // (UnprotectedFaults::write_without_lease).
    ~FaultyKubeApi() override;
    FaultyKubeApi(const FaultyKubeApi&) = delete;
    FaultyKubeApi& operator=(const FaultyKubeApi&) = delete;

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
    Result<NodeShown> node_shows(const NodeName& node, const NodeWanted& wanted) override;
    Result<> set_node_metadata(const NodeName& node, const StringMap& annotations,
                               const StringMap& labels) override;
    Result<> set_node_resources(const NodeName& node, const StringMap& amounts) override;
    Result<std::optional<Lease>> read() override;
    Result<Lease> write(const Lease& lease) override;
    Result<bool> may_evict(const PodUid& uid, const PodName& pod) override;
    Result<bool> evict(const PodUid& uid, const PodName& pod) override;
    Result<> mark_preempted(const PodUid& uid, const PodName& pod,
                            const PodName& preemptor) override;
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) override;
    Result<> nominate_ahead(const PodUid& uid, const PodName& pod, const NodeName& node) override;
    Result<> withdraw(const PodUid& uid, const PodName& pod, const NodeName& node) override;

  private:
    // A write whose caller does not wait any more.
    struct Late {
        std::function<void()> write;  // empty after it has taken effect
        bool orphan = false;          // its FaultyKubeApi is destroyed
    };
    enum class Kind { read, list, write, bind };

    template <class T>
    Result<T> exchange(Kind kind, std::function<Result<T>()> serve);
    void write_later(Time latest, std::function<void()> write);
    bool pause(Time duration, const std::stop_token& stop);
    bool reaches_the_server(Kind kind, Time deadline);
    tl::unexpected<Error> give_up(Time deadline);
    void check_unbound(const PodUid& uid, const PodName& name) const;
    [[nodiscard]] bool was_more_important(const PodName& name, int priority) const;
    template <class Object, class Changes, class Take>
    void follow(const std::vector<Change<Object>>& log, const std::function<Changes()>& list,
                const Take& take, const std::function<void(Changes)>& sink,
                const ErrorSink& on_error, const std::stop_token& stop);
    template <class Object, class Changes, class Take>
    Result<> watch(const std::vector<Change<Object>>& log, std::size_t& position, const Take& take,
                   const std::function<void(Changes)>& sink, const std::stop_token& stop);

    Scene& scene_;
    ApiServer& server_;
    const std::string owner_;
    std::list<std::shared_ptr<Late>> late_;
    std::map<PodUid, Time> bound_;  // pods that this process bound, and when
};

}  // namespace tessera::simulation

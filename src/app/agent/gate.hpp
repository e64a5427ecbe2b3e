// The gate that every GPU container passes on its way to start. It fails closed: without a valid
// allocation for exactly this pod and container, the container does not start, and the error says
// why.
//
// Two ways of knowing which container it is, both exact (docs/decisions/0003-identity.md):
//  nri            the runtime asks us at CreateContainer, with the pod's uid and annotations;
//  kubelet        Allocate hands over the name of a CDI device that does not exist yet; at
//                 PreStartContainer kubelet's checkpoint tells which container was given that name,
//                 and the device is made, before the runtime looks for it.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "app/agent/cards.hpp"
#include "domain/handover/handover.hpp"
#include "ports/cdi_store.hpp"
#include "ports/container_runtime.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

enum class Identity { nri, kubelet };

std::string_view identity_name(Identity identity);

struct GatePorts {
    const Cards& cards;
    KubeApi& kube;
    DeviceHolders& holders;
    CdiStore& cdi;
};

// Any thread may call.
class Gate final : public ContainerHandler, public DevicePluginHandler {
  public:
    Gate(GatePorts ports, NodeName node, Identity identity);

    Result<ContainerEdits> complete(const RuntimeContainer& container) override;
    std::vector<Eviction> synchronize(const std::vector<RuntimeContainer>& containers) override;
    void on_link(bool connected, const std::string& detail) override;

    Result<std::vector<std::string>> allocate(const std::string& resource,
                                              const std::vector<std::string>& ids) override;
    Result<> pre_start(const std::string& resource, const std::vector<std::string>& ids) override;

  private:
    Result<ContainerEdits> edits_for(const Allocation& allocation, const PodUid& pod,
                                     const std::string& container);
    Result<bool> holds_devices(const PodUid& pod, const std::string& container);
    Result<ContainerEdits> decide(const RuntimeContainer& container);
    Result<> make_shares(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_share(const DeviceHolder& holder, const PodFacts& pod);

    GatePorts ports_;
    const NodeName node_;
    const Identity identity_;
    std::atomic<bool> linked_ = false;
    std::mutex shares_mutex_;  // held from reading kubelet's record to removing what it lacks
};

}  // namespace tessera

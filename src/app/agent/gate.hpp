// The gate that every GPU container passes on its way to start. It fails closed: without a valid
// allocation for exactly this pod and container, and devices that kubelet gave it, the container
// does not start, and the error says why. A container that asks for no GPU always passes.
//
// Two ways of knowing which container it is, both exact (docs/decisions/0003-identity.md):
//  nri            the runtime asks us at CreateContainer, with the pod's uid and annotations;
//  kubelet        Allocate hands over the name of a CDI device that does not exist yet; at
//                 PreStartContainer kubelet's checkpoint tells which container was given that name,
//                 and the device is made, before the runtime looks for it.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/agent/cards.hpp"
#include "domain/handover/handover.hpp"
#include "ports/cdi_store.hpp"
#include "ports/container_runtime.hpp"
#include "ports/kubelet.hpp"
#include "ports/share_holder.hpp"
#include "wire/allocation_seal.hpp"

namespace tessera {

enum class Identity { nri, kubelet };

std::string_view identity_name(Identity identity);

struct GatePorts {
    const Cards& cards;
    KubeApi& kube;
    DeviceHolders& holders;
    DevicePluginHost& plugins;
    CdiStore& cdi;
    const AllocationSeal* seal;     // null: allocations are not signed
    ShareHolder* holder = nullptr;  // null: shares are not held
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
    // What the pod's annotation and kubelet's record together say of a container.
    enum class Standing {
        plain,      // no share, and no devices that we know of
        placed,     // a share, and devices
        unplaced,   // devices, and no share: the pod went past the scheduler
        undue,      // a share, and no devices: the container asks for none
        gpushares,  // devices that gpushare's plugin handed over, before the node was taken over
    };
    struct Judgement {
        Standing standing = Standing::plain;
        std::optional<Allocation> allocation;  // where it names the container
    };
    using Record = Result<std::vector<DeviceHolder>>;

    // One rule for starting containers and for running ones. An error when the annotation cannot be
    // understood or is not signed (no seal: not asked), or a share cannot be checked against the
    // record.
    static Result<Judgement> judge(const RuntimeContainer& container, const Record& record,
                                   const AllocationSeal* seal);
    Result<ContainerEdits> edits_for(const Allocation& allocation, const HeldContainer& container);
    // Of shares that are not whole cards.
    Result<std::vector<FileMount>> hold(const ContainerAllocation& share,
                                        const HeldContainer& container,
                                        const std::vector<Gpu>& gpus);
    Result<ContainerEdits> decide(const RuntimeContainer& container);
    tl::unexpected<Error> unknown_devices();
    Result<> check_known(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_shares(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_share(const DeviceHolder& holder, const PodFacts& pod);

    GatePorts ports_;
    const NodeName node_;
    const Identity identity_;
    std::atomic<bool> linked_ = false;
    std::mutex shares_mutex_;  // held from reading kubelet's record to removing what it lacks
};

}  // namespace tessera

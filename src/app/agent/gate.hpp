// The gate that every GPU container passes on its way to start. It fails closed: without a valid
// allocation for exactly this pod and container, and devices that kubelet gave it, the container
// does not start, and the error says why. A container that asks for no GPU passes, and sees none.
//
// Two ways of knowing which container it is, both exact (docs/decisions/0003-identity.md):
//  nri            the runtime asks us at CreateContainer, with the pod's uid and annotations, and
//                 once more when the container is made, before its program runs: what the runtime
//                 left out, or what covers our files, keeps it from starting;
//  kubelet        Allocate hands over the name of a CDI device that does not exist yet; at
//                 PreStartContainer kubelet's checkpoint tells which container was given that name,
//                 and the device is made, before the runtime looks for it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/agent/cards.hpp"
#include "app/agent/mount_watch.hpp"
#include "app/agent/unshared_watch.hpp"
#include "domain/handover/handover.hpp"
#include "domain/handover/start_rules.hpp"
#include "ports/cdi_store.hpp"
#include "ports/container_runtime.hpp"
#include "ports/kubelet.hpp"
#include "ports/live_limits.hpp"
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
    const AllocationSeal* seal;              // null: allocations are not signed
    ShareHolder* holder = nullptr;           // null: shares are not held
    LiveLimits* limits = nullptr;            // beside it, and null with it
    MountWatch* mounts = nullptr;            // likewise
    UnsharedContainers* unshared = nullptr;  // null: they are logged alone
};

// Any thread may call.
class Gate final : public ContainerHandler, public DevicePluginHandler {
  public:
    Gate(GatePorts ports, NodeName node, Identity identity, StartRules rules);

    Result<ContainerEdits> complete(const RuntimeContainer& container) override;
    Result<> verify(const RuntimeContainer& container) override;
    void on_runtime(const RuntimeIdentity& runtime) override;
    void synchronize(const std::vector<RuntimeContainer>& containers) override;
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
    // One that is about to be made.
    struct Starting {
        PodUid pod;
        PodName name;
        const ContainerSetup& setup;
    };

    // One rule for starting containers and for running ones. An error when the annotation cannot be
    // understood or is not signed (no seal: not asked), or a share cannot be checked against the
    // record.
    static Result<Judgement> judge(const RuntimeContainer& container, const Record& record,
                                   const AllocationSeal* seal);
    [[nodiscard]] Result<Allocation> newest_of(const Allocation& allocation,
                                               const PodUid& pod) const;
    [[nodiscard]] bool has_our_mounts(const RuntimeContainer& container) const;
    [[nodiscard]] bool was_resized(const PodUid& pod) const;
    Result<ContainerEdits> edits_for(const Allocation& allocation, const Starting& container);
    // Of shares that are not whole cards.
    Result<std::vector<FileMount>> hold(const ContainerAllocation& share, const Starting& container,
                                        const std::vector<Gpu>& gpus);
    // The vendor's devices of these GPUs; none where the container's runtime handler goes by the
    // environment.
    Result<std::vector<std::string>> devices_for(const std::vector<Gpu>& gpus,
                                                 const ContainerSetup& setup);
    // Of a container without a share.
    Result<ContainerEdits> edits_without_gpus(const RuntimeContainer& container,
                                              const Record& record);
    Result<ContainerEdits> decide(const RuntimeContainer& container);
    Result<> check_handed_over(const RuntimeContainer& container, const Allocation& allocation);
    Result<> check_devices(const RuntimeContainer& container, const ContainerAllocation& share,
                           const NodeInventory& inventory);
    RuntimeIdentity runtime() const;
    // Which containers this agent completed and has not verified yet: the runtime starts them
    // without asking once it waited for an answer too long, and then synchronizes.
    void note_completed(const RuntimeContainer& container);
    void note_verified(const RuntimeContainer& container);
    [[nodiscard]] bool is_unverified(const RuntimeContainer& container) const;
    void forget_unverified_but(const std::vector<RuntimeContainer>& containers);
    // Why it is not as the gate lets containers run; empty where it is.
    std::string what_it_lacks(const RuntimeContainer& container, const Judgement& judged);
    void watch_unshared(const RuntimeContainer& container, std::string reason);
    // The files that enforce its share are watched from now on, if it has any.
    void watch_mounts(const RuntimeContainer& container, const Allocation& allocation);
    tl::unexpected<Error> unknown_devices();
    Result<> check_known(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_shares(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_share(const DeviceHolder& holder, const NodePod& pod);

    GatePorts ports_;
    const NodeName node_;
    const Identity identity_;
    const StartRules rules_;
    std::atomic<bool> linked_ = false;
    mutable std::mutex runtime_mutex_;
    RuntimeIdentity runtime_;  // guarded by runtime_mutex_
    mutable std::mutex unverified_mutex_;
    // The newest container id of each; guarded by unverified_mutex_.
    std::map<std::pair<PodUid, std::string>, std::string> unverified_;
    std::mutex shares_mutex_;  // held from reading kubelet's record to removing what it lacks
};

}  // namespace tessera

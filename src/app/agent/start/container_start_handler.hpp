// Checks every GPU container before it starts, and adds the devices, variables and mounts of its
// GPU share. It fails closed: the container needs a valid allocation for exactly this pod and
// container, and devices that kubelet gave it. Without them it does not start, and the error says
// why. A container that requests no GPU passes, and sees none.
//
// There are two ways to identify the container, both exact (docs/decisions/0003-identity.md):
// - nri: the runtime calls the agent at CreateContainer, with the pod's uid and annotations. It
//   calls again when the container is created, before its program runs: if the runtime left
//   something out, or a mount covers our files, the container does not start.
// - kubelet: Allocate returns the name of a CDI device that does not exist yet. At
//   PreStartContainer, kubelet's checkpoint shows which container got that name. The agent then
//   creates the device, before the runtime looks for it.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/agent/enforcement/enforcers.hpp"
#include "app/agent/enforcement/mount_watch.hpp"
#include "app/agent/enforcement/unshared_watch.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "app/agent/mps/gpu_modes.hpp"
#include "base/mutex.hpp"
#include "domain/container_start/container_edits.hpp"
#include "domain/container_start/identity.hpp"
#include "domain/container_start/start_rules.hpp"
#include "domain/dialect/dialect.hpp"
#include "ports/cdi_store.hpp"
#include "ports/container_runtime.hpp"
#include "ports/kubelet.hpp"
#include "ports/shares/resized_allocations.hpp"
#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

struct ContainerStartPorts {
    const GpuMonitor& gpus;
    KubeApi& kube;
    DeviceHolders& holders;
    DevicePluginHost& plugins;
    CdiStore& cdi;
    const AllocationSeal* seal;              // null: allocations are not signed
    Enforcers enforcers = {};                // empty: shares are not enforced
    ResizedAllocations* resized = nullptr;   // set if shares are enforced, and null otherwise
    MountWatch* mounts = nullptr;            // likewise
    UnsharedContainers* unshared = nullptr;  // null: unshared containers are only logged
    const Dialects* dialects = &all_dialects();
    const GpuModes* modes = nullptr;  // null: the node does not offer MPS
};

// Thread-safe.
class ContainerStartHandler final : public ContainerHandler, public DevicePluginHandler {
  public:
    ContainerStartHandler(ContainerStartPorts ports, NodeName node, Identity identity,
                          StartRules rules);

    Result<ContainerEdits> on_create_container(const RuntimeContainer& container) override;
    Result<> verify(const RuntimeContainer& container) override;
    void on_runtime(const RuntimeIdentity& runtime) override;
    void synchronize(const std::vector<RuntimeContainer>& containers) override;
    void on_link(bool connected, const std::string& detail) override;
    // An error while the runtime is not connected, if containers are identified by it. Any thread.
    [[nodiscard]] Result<> ready() const;

    Result<std::vector<std::string>> allocate(const std::string& resource,
                                              const std::vector<std::string>& ids) override;
    Result<> pre_start(const std::string& resource, const std::vector<std::string>& ids) override;

  private:
    // What the pod's annotation and kubelet's record together say about a container.
    enum class ShareState {
        none,             // no share, and no known devices
        allocated,        // a share, and devices
        devices_only,     // no share: the pod bypassed the scheduler
        allocation_only,  // a share, and no devices: the container requests none
        former_plugin,    // devices of a former system's plugin, before Tessera took the node over
    };
    struct Judgement {
        ShareState share = ShareState::none;
        std::optional<Allocation> allocation;  // set if it names the container
    };
    using Record = Result<std::vector<DeviceHolder>>;
    // A container that is about to be created.
    struct Starting {
        PodUid pod;
        PodName name;
        const ContainerSetup& setup;
        std::string cgroup_path = {};  // as in RuntimeContainer, like the next
        std::optional<std::uint32_t> user_id = {};
        // The enforcer of its memory by the pod's annotation, if a weaker one must not replace it.
        std::string_view memory_by = {};
    };

    // Applies the same rule to starting and to running containers. An error if the annotation
    // cannot be understood or is not signed (no seal: signatures are not checked), or if a share
    // cannot be checked against the record.
    Result<Judgement> judge(const RuntimeContainer& container, const Record& record,
                            const AllocationSeal* seal) const;
    [[nodiscard]] Result<Allocation> newest_of(const Allocation& allocation,
                                               const PodUid& pod) const;
    [[nodiscard]] bool was_resized(const PodUid& pod) const;
    void wait_for_modes(const PodUid& pod) const;
    Result<ContainerEdits> edits_for(const Allocation& allocation, const Starting& container);
    [[nodiscard]] Result<> check_modes(const ContainerAllocation& share,
                                       const std::vector<Gpu>& gpus) const;
    // What the container needs for the enforcement of its share.
    struct Enforced {
        ContainerEdits edits;
        bool shows_share = false;  // as Enforcer::shows_share
    };
    // Enforces shares that are not whole GPUs.
    Result<Enforced> enforce(const ContainerAllocation& share, const Starting& container,
                             const std::vector<Gpu>& gpus);
    // As EnforcedBy::text; empty for whole GPUs.
    [[nodiscard]] std::string enforced_by(const PodUid& pod, const std::string& container) const;
    // The vendor's CDI devices of these GPUs. Empty if the container's runtime handler reads the
    // environment instead.
    Result<std::vector<std::string>> devices_for(const std::vector<Gpu>& gpus,
                                                 const ContainerSetup& setup);
    // For a container without a share.
    Result<ContainerEdits> edits_without_gpus(const RuntimeContainer& container,
                                              const Record& record);
    Result<ContainerEdits> decide(const RuntimeContainer& container);
    Result<> check_injected(const RuntimeContainer& container, const Allocation& allocation);
    RuntimeIdentity runtime() const;
    // Which containers this agent completed and has not verified yet. If the agent answers too
    // late, the runtime starts them without asking, and then synchronizes.
    void note_completed(const RuntimeContainer& container);
    void note_verified(const RuntimeContainer& container);
    [[nodiscard]] bool is_unverified(const RuntimeContainer& container) const;
    void forget_unverified_but(const std::vector<RuntimeContainer>& containers);
    // Why the container does not meet the rules for GPU containers; empty if it does.
    std::string what_it_lacks(const RuntimeContainer& container, const Judgement& judged);
    void watch_unshared(const RuntimeContainer& container, std::string reason);
    // From now on, watches what enforces its share, if it has any.
    void watch_mounts(const RuntimeContainer& container, const Allocation& allocation);
    tl::unexpected<Error> unknown_devices();
    // The pod of the container that has these devices.
    Result<PodUid> check_known(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_shares(const std::string& resource, const std::set<std::string>& ids);
    Result<> make_share(const DeviceHolder& holder, const NodePod& pod);

    ContainerStartPorts ports_;
    const NodeName node_;
    const Identity identity_;
    const StartRules rules_;
    std::atomic<bool> linked_ = false;
    mutable Mutex runtime_mutex_;
    RuntimeIdentity runtime_ TESSERA_GUARDED_BY(runtime_mutex_);
    mutable Mutex unverified_mutex_;
    // The newest container id of each container.
    std::map<std::pair<PodUid, std::string>, std::string> unverified_
        TESSERA_GUARDED_BY(unverified_mutex_);
    Mutex shares_mutex_;  // held from reading kubelet's record to removing the shares that it
                          // does not list
};

}  // namespace tessera

// One node's machine: its GPUs and driver, kubelet's record and the runtime's files on its disk,
// and the running containers. It outlives the programs on it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ports/cdi_store.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kubelet.hpp"
#include "testing/simulation/mps_node.hpp"
#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

struct PhysicalGpu {
    GpuUuid uuid;
    Bytes memory;
    bool lost = false;
    bool faulty = false;
};

// A container that the runtime runs.
struct Container {
    PodUid pod;
    PodName pod_name;
    std::string name;
    StringMap pod_annotations;
    std::vector<std::string> env;
    std::string id;
    // Its GPUs, and the memory on each; empty if it started without the agent.
    std::map<GpuUuid, Bytes> gpus;
    bool uses_mps = false;  // by its allocation
    Time since{};
};

class Machine final : public GpuInventory, public DeviceHolders, public CdiStore {
  public:
    Machine(Scene& scene, NodeName name, int gpus, Bytes each);

    const NodeName name;
    std::vector<PhysicalGpu> gpus;
    Time driver_silent_until{};
    std::deque<GpuFault> faults;                   // reported, and not handled yet
    std::vector<DeviceHolder> record;              // kubelet's record in memory
    std::vector<DeviceHolder> written;             // kubelet's record in its file
    std::map<std::string, ContainerEdits> shares;  // CDI files
    std::map<std::string, Container> containers;   // by id
    std::map<PodUid, Time> ends;                   // when a pod's work will be done
    MpsNode mps;

    [[nodiscard]] const Container* running(const PodUid& pod, const std::string& container) const;
    void end_containers(const PodUid& pod);
    void forget(const PodUid& pod);
    // Writes kubelet's record to its file, unless a fault strikes.
    void write_record();

    Result<std::vector<GpuReading>> read() override;
    // No limits are enforced in the simulation, so no process bypasses them.
    Result<std::vector<GpuProcess>> processes() override { return std::vector<GpuProcess>{}; }
    // Never called: the simulation has its own loop of the agent (agent.cpp).
    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override;
    Result<> reopen() override { return {}; }
    void close() override {}
    Result<std::vector<DeviceHolder>> list() override { return written; }
    Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) override;
    Result<> write_share(const std::string& share, const ContainerEdits& edits) override;
    void keep_only_shares(const std::set<std::string>& names) override;

  private:
    Scene& scene_;
};

}  // namespace tessera::simulation

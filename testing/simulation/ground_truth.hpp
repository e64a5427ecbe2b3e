// The real state of the GPUs, independent of what any program knows, and its invariants:
//  1. Pods that the API server shows as bound and not finished have no more memory of a GPU
//     allocated than it has. A terminating pod counts until it is gone.
//  2. A container that started through the agent has exactly the GPUs and amounts of its pod's
//     allocation. All such containers together have no more memory of a GPU than it has.
// An orphaned container, whose pod was force-deleted, counts in neither invariant: the API says
// that the pod is gone, and no other program knows better. It may even start later, if kubelet does
// not know of the deletion yet. Both cases are counted (orphans_met, orphans_started).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "testing/simulation/api_server.hpp"
#include "testing/simulation/machine.hpp"

namespace tessera::simulation {

class GroundTruth {
  public:
    GroundTruth(Scene& scene, ApiServer& server);

    void add(Machine& machine);
    // Call it before the container is added to the machine.
    void check_start(const Machine& machine, const Container& container, bool by_agent);
    [[nodiscard]] std::uint64_t orphans_met() const { return orphans_met_; }
    [[nodiscard]] std::uint64_t orphans_started() const { return orphans_started_; }
    [[nodiscard]] std::uint64_t bound() const { return given_.size(); }
    [[nodiscard]] std::uint64_t started() const { return started_; }

  private:
    void take(const Change<PodObject>& change);
    void free(const PodUid& uid);
    void take_mode(const PodName& name, const Allocation& own);
    void check_room(const Machine& machine, const Container& container,
                    const std::function<void(const std::string&)>& wrong);

    Scene& scene_;
    ApiServer& server_;
    std::map<GpuUuid, Bytes> capacity_;
    std::map<GpuUuid, Bytes> granted_;
    std::map<PodUid, std::vector<GpuAllocation>> allocated_;
    std::map<PodUid, Allocation> given_;  // of all pods of the run; never removed
    std::uint64_t orphans_met_ = 0;
    std::uint64_t orphans_started_ = 0;
    std::uint64_t started_ = 0;
};

}  // namespace tessera::simulation

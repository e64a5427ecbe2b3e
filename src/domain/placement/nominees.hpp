// Reservations of nodes for pods that wait. When kube-scheduler evicts pods for another pod, it
// nominates that pod to their node (status.nominatedNodeName), and asks for it again once they are
// gone. Our own reservations (ClusterState::reserve_node) count in the same way. Until the nominee
// is bound, pods of its priority or lower are placed as if it were on the node. kube-scheduler does
// the same with the resources that it counts (RunFilterPluginsWithNominatedPods). Otherwise another
// pod could take the GPUs first, and the victims would have been evicted without success. Pods that
// were nominated ahead of their turn (Nominee::is_ahead) count only for younger pods of their
// priority. Otherwise older pods would wait for younger ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/snapshot.hpp"
#include "domain/events/reader.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// The pod to be placed. Nominees of lower priority do not count for it, nor does the pod itself; if
// it is a nominee, those after it do not count either.
struct PodToPlace {
    const PodUid& uid;
    int priority = 0;
    std::string_view created = {};  // PodInfo::created; empty: all nominees are older
};

// The pod must outlive the result.
inline PodToPlace to_place(const PodRequest& pod) {
    return {pod.uid, pod.priority, pod.created};
}

// Counts the nominees that come before the pod on the GPUs where they fit, as if they were on the
// node. `gpus` are the node's GPUs in any state.
void count_nominees(const NodeInfo& node, const PodToPlace& pod, std::vector<GpuState>& gpus);

// The GPUs of a node with a state other than the current one.
class RoomLeft {
  public:
    // Parallel to the node's GPUs.
    explicit RoomLeft(std::vector<GpuState> gpus);

    // Valid as long as both objects.
    [[nodiscard]] NodeGpus node_gpus(const NodeInfo& node) const;

  private:
    std::vector<GpuState> gpus_;
    std::vector<Bytes> free_;
};

// The node's GPUs, with the nominees that come before the pod counted on them.
std::vector<GpuState> gpus_left(const NodeInfo& node, const PodToPlace& pod);

// Placer::try_node on what the nominees that come before the pod leave; `placer` is the pod's. A
// nominee's GPUs are chosen as if terminating pods were gone. A nominee that does not fit even then
// gets nothing.
const Assignment* try_left(Placer& placer, const NodeInfo& node, const PodToPlace& pod);

// How many of the nominees that come after the pod still fit, one after the other, beside the
// shares that the pod takes of `gpus`.
std::size_t room_behind(const NodeInfo& node, const PodToPlace& pod,
                        const std::vector<ContainerAllocation>& taken, std::vector<GpuState> gpus);

// Why a pod that would fit without the nominees does not fit, in words for that reader.
std::string reserved_for(const NodeInfo& node, const PodToPlace& pod, const Reader& reader);

// NodeInfo::blocked in words for that reader.
std::string blocked_for(const NodeInfo& node, const Reader& reader);

}  // namespace tessera

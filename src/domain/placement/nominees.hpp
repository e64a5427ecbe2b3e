// Room that was made for a pod is the pod's. When kube-scheduler ends others for a pod it nominates
// it to their node (status.nominatedNodeName), and asks for it again once they are gone; what we
// promise counts alike (ClusterState::promise). Until then
// pods of its priority or a lower one are placed as though it were there: as kube-scheduler itself
// does with the sums that it knows (RunFilterPluginsWithNominatedPods). Otherwise whoever is asked
// for first takes the room, and the others were ended in vain.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster/view.hpp"
#include "domain/events/reader.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// Who asks: nothing is kept from a pod for itself, for one of a lower priority, or, where it is a
// nominee itself, for those that come after it.
struct Asker {
    const PodUid& uid;
    int priority = 0;
};

// Counts the nominees that come before the pod on the cards where they fit, as though they were
// there. `cards` are those of the node in any condition.
void count_nominees(const NodeView& node, const Asker& pod, std::vector<Card>& cards);

// Cards of a node, with other holds than it has now.
class RoomLeft {
  public:
    // Parallel to the node's.
    explicit RoomLeft(std::vector<Card> cards);

    // As long as both live.
    [[nodiscard]] Offer offer(const NodeView& node) const;

  private:
    std::vector<Card> cards_;
    std::vector<Bytes> free_;
};

// The node's cards, and on them also what the nominees that come before the pod are kept.
std::vector<Card> cards_left(const NodeView& node, const Asker& pod);

// Placer::try_node on what the nominees that come before the pod leave of the node; `placer` is the
// pod's. A nominee's cards are chosen as if the pods that are ending were gone; one that does not
// fit even so keeps nothing.
const Fit* try_left(Placer& placer, const NodeView& node, const Asker& pod);

// How many of the nominees that come after the pod find room beside the shares that it takes of
// `cards`, one after the other.
std::size_t room_behind(const NodeView& node, const Asker& pod,
                        const std::vector<ContainerAllocation>& taken, std::vector<Card> cards);

// Why a pod does not fit that would but for the nominees, in words for that reader.
std::string kept_for(const NodeView& node, const Asker& pod, const Reader& reader);

// NodeView::blocked in words for that reader.
std::string blocked_for(const NodeView& node, const Reader& reader);

}  // namespace tessera

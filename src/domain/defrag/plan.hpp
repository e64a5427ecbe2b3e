// Defragmentation: the fewest moves of movable pods that make room for a pod which waits, or free
// whole cards.
//
// A move ends a pod, and its controller makes another, which the scheduler places: the plan goes by
// where that would be, by the pod's policy and the code that decides it (placement/node_price.hpp),
// with the moves before it done, beside the nominees that come before it. A pod whose new one would
// come back to its cards is not moved, and neither is one whose new one would go elsewhere if it
// were made later, where it is not known when that is. Of what else a pod asks of its node it is
// known what bars it (Barred), and its CPU and memory. Each pod is moved once at most.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/view.hpp"
#include "domain/defrag/replacement.hpp"
#include "domain/placement/node_rater.hpp"

namespace tessera::defrag {

// Nodes where a pod may not run; null: none of them.
using Barred = std::shared_ptr<const std::set<NodeName>>;

struct MovablePod {
    PodAsk ask;  // of the pod that its controller makes anew; the uid is the old one's
    Barred barred;
    // By which that one is placed; null: the best fit of place.hpp.
    std::shared_ptr<const NodeRater> rater{};
    Replacement made = Replacement::at_once;
};

struct Cluster {
    std::vector<ClusterView::NodePtr> nodes;
    std::set<NodeName> closed;  // take no new pods (spec.unschedulable)
    std::vector<MovablePod> movable;
};

// That many whole cards more than now are free.
struct FreeCards {
    int cards = 1;
};
// The pod fits on a node.
struct RoomFor {
    PodAsk pod;
    Barred barred;
};
using Goal = std::variant<FreeCards, RoomFor>;

struct Move {
    PodUid uid;
    PodName pod;
    NodeName node;
    std::vector<int> cards;  // by their index on the node, ascending
    Bytes size;              // memory on all of them
    NodeName to;             // where its new pod would go
    std::vector<int> to_cards;

    friend bool operator==(const Move&, const Move&) = default;
};

// Of cards that new pods may take.
struct Room {
    int free_cards = 0;  // usable, and nobody on them
    Bytes largest;       // free on one card

    friend bool operator==(const Room&, const Room&) = default;
};

Room room_of(const Cluster& cluster);

struct Plan {
    std::vector<Move> moves;  // in this order; empty: it is so already
    Room before;
    Room after;
    NodeName fits_on;     // of RoomFor
    bool fewest = false;  // proven, see make_plan(); else a plan of fewer moves may exist
};

struct NoPlan {
    std::string reason;
};

// What one call may try: so many pods taken from their cards on paper, and put on others, in all
// and for one number of moves; and so many nodes priced for a kind of pod, which is what takes the
// time where pods are of very many kinds. The same once more for cards one by one, where all at
// once are too many. No clock: the same input has the same answer. What that takes is measured
// (testing/bench/defrag_bench.cpp).
struct Effort {
    std::size_t steps = 60'000;
    std::size_t steps_per_length = 20'000;
    std::size_t prices = 3'000'000;
};

// The same answer for the same input. `fewest` is proven where the number of moves is what a lower
// bound says, or where every shorter sequence was tried: not where effort ran out, and by the bound
// alone where room is kept for nominees. It is proven of moves as they are planned: a pod moves
// once and goes where its policy would place it then, to none of the cards that it has. What is
// never tried is a new pod that shares a card with the old one (made once that is gone, on several
// cards), or whose place hangs on when it is made; such a move might do where this finds none or
// more.
std::variant<Plan, NoPlan> make_plan(const Cluster& cluster, const Goal& goal,
                                     const Effort& effort = {});

}  // namespace tessera::defrag

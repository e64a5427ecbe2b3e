// A snapshot's pods and nodes as a bound takes them: all pods, on nodes without them. An arrival is
// a pod, by creation; what it asks for is told as on the most common cards that are large enough.
//
// In favour of the bound: a pod's containers need not be on one node; a node whose cards differ
// stands in as several, one for each kind of its cards and each with all its CPU and memory; rules
// on models and UUIDs count as far as they bar whole kinds of cards, and those on company and links
// not at all, nor do gangs. A card that a pod holds which stays counts whole; those out of order
// are not there. Pods that the engine has no terms for (LiveCluster) are left out. What a share
// holds is in thousandths of the card that it is on (engine_terms.hpp), rounded up, as the engine
// has it.
#pragma once

#include <memory>
#include <string>

#include "app/sim/bound_subject.hpp"
#include "app/sim/live_cluster.hpp"

namespace tessera {

// `cluster` is the snapshot's. invalid_argument: all cards are out of order. unsupported: more
// kinds of cards (model, memory, unit) than the engine tells apart.
Result<std::unique_ptr<BoundSubject>> live_bound(ClusterSnapshot snapshot, LiveCluster cluster);

// What makes the bound higher than it might be, in a line for people: rules on cards that it leaves
// out, in whole or in part. Empty where no pod has such.
std::string rules_left_out(const LiveCluster& cluster);

}  // namespace tessera

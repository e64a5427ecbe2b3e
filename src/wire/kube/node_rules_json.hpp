// Label selectors, and where a pod may run: of a v1.Pod and a v1.Node.
#pragma once

#include <optional>

#include "domain/cluster/node_rules.hpp"
#include "domain/cluster/scheduling_rules.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The terms of a map of labels and of a list of expressions, as in a LabelSelector's `matchLabels`
// and `matchExpressions`. Nothing if they cannot be understood.
std::optional<LabelTerms> read_label_terms(JsonValue labels, JsonValue expressions);

// Where the pods of a v1.PodSpec may run. A rule that cannot be understood is one that no node
// matches.
NodeRules read_node_rules(JsonValue spec);
// A v1.Pod.
SchedulingRules read_scheduling_rules(JsonValue pod);
// Whether a v1.Pod prefers some nodes (preferred affinities, a soft topology spread), in addition
// to what it requires.
bool has_preferences(JsonValue pod);
// The traits of a v1.Node.
NodeTraits read_node_traits(JsonValue node);

}  // namespace tessera

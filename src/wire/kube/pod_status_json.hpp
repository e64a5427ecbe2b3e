// Patches of pods/NAME/status, and what other programs wrote there. The API server refuses each
// patch for a pod with another uid: a JSON patch with 422, the others with 409.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The field manager of nominations ahead of their turn.
inline constexpr std::string_view kNominator = "tessera-nominator";

// A strategic merge patch. By this condition (DisruptionTarget, PreemptionByScheduler)
// kube-scheduler knows that room is being made on a pod's nominated node, and keeps the nomination.
// `preemptor` is text for the users of the evicted pod (domain/events/reader.hpp).
std::string write_preempted(const PodUid& uid, std::string_view preemptor);

// A merge patch that sets status.nominatedNodeName.
std::string write_nomination(const PodUid& uid, const NodeName& node);
// A JSON patch (RFC 6902) with the same effect; refused (422) if the pod is bound, or nominated
// already.
std::string write_first_nomination(const PodUid& uid, const NodeName& node);
// A JSON patch that removes the nomination; refused (422) if it names another node.
std::string write_withdrawal(const PodUid& uid, const NodeName& node);

// Whether kNominator wrote the Pod's nomination. The API server records the manager of each
// field (metadata.managedFields).
bool read_nominated_ahead(JsonValue pod);

}  // namespace tessera

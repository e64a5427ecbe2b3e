// Nominations of pods to nodes (status.nominatedNodeName), as patches of pods/NAME/status and in
// the Pod. The API server refuses each patch for a pod with another uid.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The field manager of nominations ahead of their turn.
inline constexpr std::string_view kNominator = "tessera-nominator";

// A merge patch.
std::string write_nomination(const PodUid& uid, const NodeName& node);
// A JSON patch (RFC 6902) that removes the nomination; refused (422) if it names another node.
std::string write_withdrawal(const PodUid& uid, const NodeName& node);

// Whether kNominator wrote the Pod's nomination. The API server records the manager of each
// field (metadata.managedFields).
bool read_nominated_ahead(JsonValue pod);

}  // namespace tessera

// What an agent answers to GET /shares: the usage of the GPU shares of its node's containers.
//
//     {"version":1,"node":"n1","shares":[{"podUid":"…","namespace":"default","pod":"train",
//      "container":"main","uuid":"GPU-…","usedBytes":…,"limitBytes":…,"coresPercent":30,
//      "coresLimitPercent":60,"refusals":0,"timed":true,"kernelsNs":…,"copiesNs":…,
//      "hadKernelsNs":…,"hadCopiesNs":…,"waitedNs":…,"damaged":false,
//      "processes":[{"pid":7,"usedBytes":…}]}]}
//
// An older agent omits coresLimitPercent, timed, had… and damaged: no compute limit, 0, false.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

inline constexpr int kShareUsesVersion = 1;

struct NodeShareUses {
    NodeName node;
    std::vector<ShareUse> shares;

    friend bool operator==(const NodeShareUses&, const NodeShareUses&) = default;
};

std::string write_share_uses(const NodeShareUses& uses);

// invalid_argument for broken text, unsupported for a newer version.
Result<NodeShareUses> read_share_uses(std::string_view text);

}  // namespace tessera

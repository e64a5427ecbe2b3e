// Node objects, as far as agents write them (domain/dialect/published_node.hpp).
#pragma once

#include <span>
#include <string>

#include "domain/dialect/published_node.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Empty apart from the name for a Node that no agent has published. Left alone are labels that an
// administrator sets, amounts of 0, which kubelet keeps for a device plugin that has ended, and
// gpushare's resources on a Node without Tessera's annotations.
PublishedNode read_published_node(JsonValue node);

// A merge patch of a Node's status without these amounts.
std::string write_amounts_removal(std::span<const std::string> amounts);

}  // namespace tessera

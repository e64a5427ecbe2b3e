// Tessera's own views of the cards: a wide table, the fullest cards first, and the same as JSON or
// YAML.
#pragma once

#include <span>
#include <string>

#include "app/cli/usage.hpp"
#include "wire/json.hpp"

namespace tessera {

// One line per card: node, index, model, memory held and in all, compute, pods, health, UUID.
std::string wide_table(std::span<const NodeUsage> nodes);
// The same cards, fullest first, without the UUID.
std::string top_table(std::span<const NodeUsage> nodes);
// Everything, bytes and percent, with "version": 1; also as members of an object that is being
// written.
void write_usage(JsonWriter& w, std::span<const NodeUsage> nodes);
std::string usage_json(std::span<const NodeUsage> nodes);

}  // namespace tessera

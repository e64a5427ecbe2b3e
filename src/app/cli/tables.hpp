// Tessera's own views of the GPUs: a wide table, a table with the fullest GPUs first, and JSON or
// YAML.
#pragma once

#include <span>
#include <string>

#include "app/cli/usage.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// One line per GPU: node, index, model, allocated memory, capacity, compute, pods, health, UUID.
std::string wide_table(std::span<const NodeUsage> nodes);
// The same GPUs, the fullest first, without the UUID.
std::string top_table(std::span<const NodeUsage> nodes);
// A heading and the GPUs that are unhealthy or not shareable, with the reasons; empty if there is
// none. For the tables of gpushare_text.hpp, which then count only the others.
std::string unusable_gpus_text(std::span<const NodeUsage> nodes);
// Everything in bytes and percent, with "version": 1. write_usage writes it as members of the
// object that is being written.
void write_usage(JsonWriter& w, std::span<const NodeUsage> nodes);
std::string usage_json(std::span<const NodeUsage> nodes);

}  // namespace tessera

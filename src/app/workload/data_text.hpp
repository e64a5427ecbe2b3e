// Volumes with data as a table and JSON. The layout is Arena's (docs/research/arena.md §4.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "domain/workload/data_volume.hpp"

namespace tessera {

// `namespaces`: with the column NAMESPACE. `now_s`: seconds since 1970.
std::string data_table(std::span<const workload::DataVolume> volumes, std::int64_t now_s,
                       bool namespaces);
// An array.
std::string data_json(std::span<const workload::DataVolume> volumes);

}  // namespace tessera

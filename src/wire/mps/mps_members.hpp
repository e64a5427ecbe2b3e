// The members of JSON objects about MPS, without the version: of the files in the folder of the
// daemons, and of what an agent reports.
#pragma once

#include "base/result.hpp"
#include "domain/mps/mps_grant.hpp"
#include "domain/mps/mps_state.hpp"
#include "wire/text/json_field.hpp"

namespace tessera::mps {

inline constexpr int kMostMultiprocessors = 1024;  // no GPU has that many

void write_state(JsonWriter& w, const MpsState& state);
Result<MpsState> read_state(const JsonField& at);
// Without the pod and the container.
void write_grant(JsonWriter& w, const MpsGrant& grant);
Result<MpsGrant> read_grant(const JsonField& at);

void write_settings(JsonWriter& w, const MpsSettings& settings);
Result<MpsSettings> read_settings(const JsonField& at, std::int64_t least_threads,
                                  std::int64_t least_memory);

}  // namespace tessera::mps

// Events about a job, as `get --events` shows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "domain/workload/object_event.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The section "Events:" in Arena's layout, oldest first as given. Ages count up to `now_s`.
std::string events_text(std::span<const workload::ObjectEvent> events, std::int64_t now_s);
// Writes the member `events` of the object that is being written.
void write_events(JsonWriter& w, std::span<const workload::ObjectEvent> events);

}  // namespace tessera

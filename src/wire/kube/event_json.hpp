// An Event of a pod (core/v1), as kubectl describe shows it.
#pragma once

#include <cstdint>
#include <string>

#include "domain/events/pod_event.hpp"

namespace tessera {

// The body to post to the events of the pod's namespace. `unix_s`: seconds since 1970.
std::string write_pod_event(const PodEvent& event, std::int64_t unix_s);
// A merge patch for an event that happened again; `count` is the total.
std::string write_event_again(int count, std::int64_t unix_s);

}  // namespace tessera

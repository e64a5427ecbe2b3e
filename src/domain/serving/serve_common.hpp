// What the kinds of model servers share.
#pragma once

#include <string_view>

#include "domain/autoscaling/request_counter.hpp"
#include "domain/serving/serve_flags.hpp"

namespace tessera::workload {

// A serving job with everything but the command, ports and probes of its kind.
Result<Serving> begin_serving(const ServeFlags& flags, ServingType type,
                              std::string_view default_image);

// Checks a port number, 0 to 65535, and adds it unless it is 0.
Result<> add_port(PodTemplate& pod, std::string_view flag, std::string_view name, int number);

// How long a model may take to load: an hour.
inline constexpr int kStartPeriods = 720;

// Notes on the pods where the server counts its requests, unless the user did.
void count_requests(PodTemplate& pod, const RequestCounter& counter);

// The probes of a server whose state these actions tell: `alive` for liveness and the start, and
// `ready` for readiness.
void set_probes(PodTemplate& pod, const Probe& alive, const Probe& ready);

}  // namespace tessera::workload

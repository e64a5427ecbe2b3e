// Writes an event of a pod and logs a failure.
#pragma once

#include "base/log.hpp"
#include "ports/kube/pod_events.hpp"

namespace tessera {

// Errors as PodEvents::tell.
inline Result<> tell_and_log(PodEvents& events, const PodEvent& event) {
    auto reported = events.tell(event);
    if (!reported) log_event(Event::api_error, {{"reason", reported.error().text}});
    return reported;
}

// Whether the event needs no further attempt: it was written, or the API server refused it.
inline bool is_final(const Result<>& reported) {
    return reported || reported.error().code != Code::unavailable;
}

}  // namespace tessera

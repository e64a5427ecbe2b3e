// Writing an event of a pod; a failure is logged.
#pragma once

#include "base/log.hpp"
#include "ports/pod_events.hpp"

namespace tessera {

// Errors as PodEvents::tell.
inline Result<> tell_and_log(PodEvents& events, const PodEvent& event) {
    auto told = events.tell(event);
    if (!told) log_event(Event::api_trouble, {{"reason", told.error().text}});
    return told;
}

// Whether it is not to be tried again: it was written, or the API server refused it.
inline bool is_settled(const Result<>& told) {
    return told || told.error().code != Code::unavailable;
}

}  // namespace tessera

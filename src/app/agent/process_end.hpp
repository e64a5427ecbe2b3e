// Killing a process of a pod that bypasses its enforcement.
#pragma once

#include <cstdint>

#include "base/log.hpp"
#include "ports/process_table.hpp"

namespace tessera {

// Logs what came of it; a process that is gone by now is no event.
inline void end_and_log(ProcessTable& processes, std::int64_t pid, const PodUid& pod) {
    const auto ended = processes.end(pid, pod);
    if (ended) {
        log_event(Event::evader_ended, {{"pod_uid", pod.str()}, {"pid", pid}});
    } else if (ended.error().code != Code::not_found) {
        log_event(Event::evader_goes_on, {{"reason", ended.error().text}});
    }
}

}  // namespace tessera

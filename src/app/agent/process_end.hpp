// Killing a process of a pod that bypasses its enforcement, or runs without its share.
#pragma once

#include <cstdint>
#include <optional>

#include "base/log.hpp"
#include "ports/process_table.hpp"

namespace tessera {

// Whether it is still the process of that pod which was started then: a pid is given out again.
inline bool is_still(ProcessTable& processes, std::int64_t pid, const PodUid& pod,
                     const std::optional<std::int64_t>& started_at) {
    return processes.pod_of(pid) == pod && (!started_at || processes.started_at(pid) == started_at);
}

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

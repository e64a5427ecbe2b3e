// Killing a process of a pod that bypasses its enforcement, or runs without its share.
#pragma once

#include <cstdint>
#include <optional>

#include "base/log.hpp"
#include "ports/process_table.hpp"

namespace tessera {

// Whether the pid still belongs to the same process of that pod: the kernel reuses pids.
inline bool is_still(ProcessTable& processes, std::int64_t pid, const PodUid& pod,
                     const std::optional<std::int64_t>& started_at) {
    return processes.pod_of(pid) == pod && (!started_at || processes.started_at(pid) == started_at);
}

// Logs the result, except for a process that is gone already.
inline void end_and_log(ProcessTable& processes, std::int64_t pid, const PodUid& pod) {
    const auto ended = processes.end(pid, pod);
    if (ended) {
        log_event(Event::bypass_killed, {{"pod_uid", pod.str()}, {"pid", pid}});
    } else if (ended.error().code != Code::not_found) {
        log_event(Event::bypass_kill_failed, {{"reason", ended.error().text}});
    }
}

}  // namespace tessera

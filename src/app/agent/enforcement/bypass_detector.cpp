#include "app/agent/enforcement/bypass_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/agent/enforcement/event_writing.hpp"
#include "app/agent/enforcement/process_end.hpp"
#include "base/log.hpp"

namespace tessera {

Result<std::vector<PodGpuProcess>> BypassDetector::read_processes() {
    TRY(const auto processes, ports_.driver.processes());
    std::vector<PodGpuProcess> out;
    for (const GpuProcess& process : processes) {
        if (process.pid == 0) {
            return fail(Code::permission_denied,
                        "the driver does not name the processes of a GPU: does the agent's pod "
                        "have hostPID (guard.enabled of the Helm chart)?");
        }
        const PodUid pod = ports_.processes.pod_of(process.pid).value_or(PodUid());
        out.push_back({.gpu = process.gpu, .pid = process.pid, .pod = pod, .used = process.used});
    }
    return out;
}

void BypassDetector::look() {
    auto processes = read_processes();
    if (!processes) {
        if (!is_blind_)
            log_event(Event::bypass_detection_failed, {{"reason", processes.error().text}});
        is_blind_ = true;
        looks_.clear();
        gpu_looks_.clear();
        const MutexLock lock(mutex_);
        found_.clear();
        unclaimed_.clear();
        return;
    }
    is_blind_ = false;
    const ShareUsage usage = ports_.shares.usage();
    const std::vector<ShareUse>& uses = usage.uses;
    look_at_gpus(*processes, uses);
    std::erase_if(*processes,
                  [&](const PodGpuProcess& of) { return usage.unreadable.contains(of.pod); });
    const auto now = find_unaccounted(*processes, uses, options_.allowance);
    std::vector<Unaccounted> found;
    std::set<Key> due;  // processes of these pods on these GPUs may be killed now
    for (const Unaccounted& found_pod : now) {
        const int in_a_row = looks_.found({found_pod.pod, found_pod.gpu});
        if (in_a_row >= kLooks) found.push_back(found_pod);
        if (in_a_row >= kLooksToEnd) due.insert({found_pod.pod, found_pod.gpu});
    }
    looks_.end_look();
    std::erase_if(reported_,
                  [&](const auto& reported) { return !looks_.contains(reported.first); });
    for (const Unaccounted& found_pod : found) {
        const auto pids =
            options_.kills_them ? uncounted(found_pod, uses) : std::vector<std::int64_t>{};
        report(found_pod, !pids.empty());
        // The event tells the user why before a process is killed. A pod without a share gets no
        // event and is not killed: it may only monitor GPUs.
        const Key key{found_pod.pod, found_pod.gpu};
        const auto reported = reported_.find(key);
        if (!due.contains(key) || reported == reported_.end() || !reported->second) continue;
        for (const std::int64_t pid : pids)
            end_and_log(ports_.processes, pid, found_pod.pod);
    }
    const MutexLock lock(mutex_);
    found_ = std::move(found);
}

// The agent cannot tell which pod uses this memory, so it sends no pod event and kills no process.
void BypassDetector::look_at_gpus(const std::vector<PodGpuProcess>& processes,
                                  const std::vector<ShareUse>& uses) {
    std::vector<GpuInUse> gpus;
    const auto readings = ports_.driver.read();
    for (const GpuReading& gpu : readings.value_or(std::vector<GpuReading>()))
        if (gpu.lost.empty()) gpus.push_back({gpu.uuid, gpu.used});
    std::vector<Unclaimed> found;
    for (const Unclaimed& each : find_unclaimed(gpus, processes, uses, options_.allowance)) {
        const int in_a_row = gpu_looks_.found(each.gpu);
        if (in_a_row >= kLooks) found.push_back(each);
        if (in_a_row != kLooks) continue;
        log_event(Event::memory_unclaimed, {{"gpu", each.gpu.str()},
                                            {"used", to_string(each.used)},
                                            {"claimed", to_string(each.claimed)}});
    }
    gpu_looks_.end_look();
    const MutexLock lock(mutex_);
    unclaimed_ = std::move(found);
}

std::vector<std::int64_t> BypassDetector::uncounted(const Unaccounted& found_pod,
                                                    const std::vector<ShareUse>& uses) {
    // Processes in two containers of one pod may have the same pid.
    std::map<std::string, std::set<std::int64_t>> counted;
    std::set<std::int64_t> counted_anywhere;
    for (const ShareUse& use : uses) {
        if (use.pod != found_pod.pod) continue;
        for (const ProcessUse& process : use.processes) {
            counted[use.container].insert(process.pid);
            counted_anywhere.insert(process.pid);
        }
    }
    std::vector<std::int64_t> out;
    for (const std::int64_t pid : found_pod.pids) {
        const auto inner = ports_.processes.pid_in_container(pid);
        if (!inner) continue;
        const auto container = ports_.enforcers.container_of(found_pod.pod, pid);
        const auto& those = container ? counted[*container] : counted_anywhere;
        if (!those.contains(*inner)) out.push_back(pid);
    }
    return out;
}

void BypassDetector::report(const Unaccounted& found_pod, bool is_ended) {
    const Key key{found_pod.pod, found_pod.gpu};
    if (reported_.contains(key)) return;
    log_event(Event::bypass_found, {{"pod_uid", found_pod.pod.str()},
                                    {"pod", found_pod.name.str()},
                                    {"gpu", found_pod.gpu.str()},
                                    {"used", to_string(found_pod.used)},
                                    {"accounted", to_string(found_pod.accounted)}});
    bool& has_event = reported_[key];
    if (found_pod.name.name.empty())
        return;  // no share of this pod is enforced, so its name is unknown: the log names it by
                 // uid
    const auto reported = tell_and_log(
        ports_.events,
        {.pod = found_pod.pod,
         .name = found_pod.name,
         .type = PodEventType::warning,
         .reason = kMemoryUnaccounted,
         .message = fmt::format("The driver says that this pod uses {} of {}, and the guard counts "
                                "{}: a program bypasses the guard{}",
                                rounded_up(found_pod.used), found_pod.gpu.str(),
                                rounded_up(found_pod.accounted),
                                is_ended ? ", and is killed"
                                         : ", or the driver keeps more memory for its contexts, "
                                           "modules and graphs than the guard knows of"),
         .source = "tessera-agent"});
    has_event = reported.has_value();
    if (!is_final(reported)) reported_.erase(key);
}

std::vector<Unaccounted> BypassDetector::found() const {
    const MutexLock lock(mutex_);
    return found_;
}

std::vector<Unclaimed> BypassDetector::unclaimed() const {
    const MutexLock lock(mutex_);
    return unclaimed_;
}

}  // namespace tessera

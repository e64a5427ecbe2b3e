#include "app/agent/evader_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/agent/event_writing.hpp"
#include "app/agent/process_end.hpp"
#include "base/log.hpp"

namespace tessera {

Result<std::vector<CardProcess>> EvaderWatch::read_processes() {
    TRY(const auto processes, ports_.driver.processes());
    std::vector<CardProcess> out;
    for (const GpuProcess& process : processes) {
        if (process.pid == 0) {
            return fail(Code::permission_denied,
                        "the driver does not name the processes of a card: does the agent's pod "
                        "have hostPID (deploy/guard)?");
        }
        const PodUid pod = ports_.processes.pod_of(process.pid).value_or(PodUid());
        out.push_back({.card = process.card, .pid = process.pid, .pod = pod, .used = process.used});
    }
    return out;
}

void EvaderWatch::look() {
    auto processes = read_processes();
    if (!processes) {
        if (!is_blind_) log_event(Event::evaders_unseen, {{"reason", processes.error().text}});
        is_blind_ = true;
        looks_.clear();
        card_looks_.clear();
        const std::scoped_lock lock(mutex_);
        found_.clear();
        unclaimed_.clear();
        return;
    }
    is_blind_ = false;
    const auto uses = ports_.shares.uses();
    look_at_cards(*processes, uses);
    const std::set<PodUid> unreadable = ports_.shares.unreadable();
    std::erase_if(*processes, [&](const CardProcess& of) { return unreadable.contains(of.pod); });
    const auto now = find_unaccounted(*processes, uses, options_.allowance);
    std::vector<Unaccounted> found;
    std::set<Key> due;  // to be ended
    for (const Unaccounted& evader : now) {
        const int in_a_row = looks_.found({evader.pod, evader.card});
        if (in_a_row >= kLooks) found.push_back(evader);
        if (in_a_row >= kLooksToEnd) due.insert({evader.pod, evader.card});
    }
    looks_.end_look();
    std::erase_if(told_, [&](const auto& told) { return !looks_.contains(told.first); });
    for (const Unaccounted& evader : found) {
        const auto pids =
            options_.ends_them ? uncounted(evader, uses) : std::vector<std::int64_t>{};
        report(evader, !pids.empty());
        // Its user reads why before it happens. A pod without a share has no event: it may be one
        // that watches GPUs, and is left alone.
        const Key key{evader.pod, evader.card};
        const auto told = told_.find(key);
        if (!due.contains(key) || told == told_.end() || !told->second) continue;
        for (const std::int64_t pid : pids)
            end_and_log(ports_.processes, pid, evader.pod);
    }
    const std::scoped_lock lock(mutex_);
    found_ = std::move(found);
}

// Nobody can be told or ended for it, for nobody is known to have it.
void EvaderWatch::look_at_cards(const std::vector<CardProcess>& processes,
                                const std::vector<ShareUse>& uses) {
    std::vector<CardInUse> cards;
    const auto readings = ports_.driver.read();
    for (const GpuReading& card : readings.value_or(std::vector<GpuReading>()))
        if (card.lost.empty()) cards.push_back({card.uuid, card.used});
    std::vector<Unclaimed> found;
    for (const Unclaimed& each : find_unclaimed(cards, processes, uses, options_.allowance)) {
        const int in_a_row = card_looks_.found(each.card);
        if (in_a_row >= kLooks) found.push_back(each);
        if (in_a_row != kLooks) continue;
        log_event(Event::memory_unclaimed, {{"gpu", each.card.str()},
                                            {"used", to_string(each.used)},
                                            {"claimed", to_string(each.claimed)}});
    }
    card_looks_.end_look();
    const std::scoped_lock lock(mutex_);
    unclaimed_ = std::move(found);
}

std::vector<std::int64_t> EvaderWatch::uncounted(const Unaccounted& evader,
                                                 const std::vector<ShareUse>& uses) {
    // Containers of a pod may have processes of one number.
    std::map<std::string, std::set<std::int64_t>> counted;
    std::set<std::int64_t> counted_anywhere;
    for (const ShareUse& use : uses) {
        if (use.pod != evader.pod) continue;
        for (const ProcessUse& process : use.processes) {
            counted[use.container].insert(process.pid);
            counted_anywhere.insert(process.pid);
        }
    }
    std::vector<std::int64_t> out;
    for (const std::int64_t pid : evader.pids) {
        const auto inner = ports_.processes.pid_in_container(pid);
        if (!inner) continue;
        const auto container = ports_.shares.container_of(evader.pod, pid);
        const auto& those = container ? counted[*container] : counted_anywhere;
        if (!those.contains(*inner)) out.push_back(pid);
    }
    return out;
}

void EvaderWatch::report(const Unaccounted& evader, bool is_ended) {
    const Key key{evader.pod, evader.card};
    if (told_.contains(key)) return;
    log_event(Event::evader_found, {{"pod_uid", evader.pod.str()},
                                    {"pod", evader.name.str()},
                                    {"gpu", evader.card.str()},
                                    {"used", to_string(evader.used)},
                                    {"held", to_string(evader.held)}});
    bool& has_event = told_[key];
    if (evader.name.name.empty()) return;  // nothing of it is held: who it is, the log says by uid
    const auto told = tell_and_log(
        ports_.events,
        {.pod = evader.pod,
         .name = evader.name,
         .type = PodEventType::warning,
         .reason = kMemoryUnaccounted,
         .message = fmt::format("The driver says that this pod uses {} of {}, and the guard counts "
                                "{}: a program goes past the guard{}",
                                to_string(evader.used), evader.card.str(), to_string(evader.held),
                                is_ended ? ", and is ended"
                                         : ", or the driver keeps more memory for its contexts, "
                                           "modules and graphs than the guard knows of"),
         .source = "tessera-agent"});
    has_event = told.has_value();
    if (!is_settled(told)) told_.erase(key);
}

void EvaderWatch::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        clock.sleep_for(kPeriod, stop);
    }
}

std::vector<Unaccounted> EvaderWatch::found() const {
    const std::scoped_lock lock(mutex_);
    return found_;
}

std::vector<Unclaimed> EvaderWatch::unclaimed() const {
    const std::scoped_lock lock(mutex_);
    return unclaimed_;
}

}  // namespace tessera

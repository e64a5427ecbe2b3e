#include "app/agent/metering/usage_metering.hpp"

#include <utility>

#include "base/log.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

// While the disk cannot be written, records are joined in memory.
constexpr std::size_t kManyUnwritten = 10'000;

}  // namespace

Result<> UsageMetering::recover() {
    TRY(MeterState state, spool_.read_state());
    const MutexLock lock(mutex_);
    meter_ = UsageMeter(std::move(state));
    return {};
}

// A pod has its GPUs until it is over. That its allocation cannot be read any more, because the key
// was replaced or the annotation edited, makes it no cheaper.
void UsageMetering::take(const PodInfo& pod) {
    if (pod.finished) {
        pods_.erase(pod.uid);
    } else if (const Allocation* allocation = own_allocation(pod)) {
        pods_.insert_or_assign(pod.uid, Pod{pod.name, *allocation});
    } else if (meter_.state().pods.contains(pod.uid)) {
        pods_.try_emplace(pod.uid, Pod{pod.name, {}});
    }
}

void UsageMetering::take(const PodChanges& changes) {
    const MutexLock lock(mutex_);
    for (const PodUid& pod : changes.deleted)
        pods_.erase(pod);
    for (const PodInfo& pod : changes.upserted)
        take(pod);
    if (changes.listed) {
        std::erase_if(pods_,
                      [&](const auto& entry) { return !changes.listed->contains(entry.first); });
        is_listed_ = true;
    }
    observe();
}

void UsageMetering::look() {
    const MutexLock lock(mutex_);
    observe();
}

void UsageMetering::finish() {
    const MutexLock lock(mutex_);
    is_state_unwritten_ = is_state_unwritten_ || is_listed_;
    observe();
}

void UsageMetering::observe() {
    // Before that, pods of the last agent would look as if they were over.
    if (!is_listed_) return;
    const std::vector<Gpu> gpus = gpus_();
    std::map<PodUid, MeteredPod> metered;
    bool is_changed = meter_.state().pods.size() != pods_.size();
    for (const auto& [uid, pod] : pods_) {
        const MeteredPod& now =
            metered.emplace(uid, MeteredPod{pod.name, metered_shares(pod.allocation, gpus)})
                .first->second;
        is_changed = is_changed || is_new(uid, now);
    }
    std::vector<UsageRecord> records = meter_.observe(metered, clock_.now());
    unwritten_.insert(unwritten_.end(), std::make_move_iterator(records.begin()),
                      std::make_move_iterator(records.end()));
    write(is_changed);
}

// Whether the state on the disk does not have the pod, or not its shares.
bool UsageMetering::is_new(const PodUid& uid, const MeteredPod& pod) const {
    const auto known = meter_.state().pods.find(uid);
    if (known == meter_.state().pods.end()) return true;
    return !pod.shares.empty() && pod.shares != known->second.pod.shares;
}

// The records first: if the agent is killed in between, the next one makes them again, and the
// ledger takes them once.
void UsageMetering::write(bool is_changed) {
    is_state_unwritten_ = is_state_unwritten_ || is_changed || !unwritten_.empty();
    if (!is_state_unwritten_) return;
    Result<> written;
    if (!unwritten_.empty()) written = spool_.add(unwritten_);
    if (written) {
        unwritten_.clear();
        written = spool_.write_state(meter_.state());
        is_state_unwritten_ = !written;
    } else if (unwritten_.size() > kManyUnwritten) {
        unwritten_ = roll_up(unwritten_);
    }
    const std::string fault = written ? "" : written.error().text;
    if (!fault.empty() && fault != fault_) log_event(Event::usage_write_error, {{"reason", fault}});
    fault_ = fault;
}

}  // namespace tessera

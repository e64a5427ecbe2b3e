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

void UsageMetering::take(const PodChanges& changes) {
    const MutexLock lock(mutex_);
    for (const PodUid& pod : changes.deleted)
        pods_.erase(pod);
    for (const PodInfo& pod : changes.upserted) {
        const Allocation* allocation = own_allocation(pod);
        if (allocation == nullptr || pod.finished) {
            pods_.erase(pod.uid);
        } else {
            pods_.insert_or_assign(pod.uid, Pod{pod.name, *allocation});
        }
    }
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
    bool has_other_pods = meter_.state().pods.size() != pods_.size();
    for (const auto& [uid, pod] : pods_) {
        metered.emplace(uid, MeteredPod{pod.name, metered_shares(pod.allocation, gpus)});
        has_other_pods = has_other_pods || !meter_.state().pods.contains(uid);
    }
    std::vector<UsageRecord> records = meter_.observe(metered, clock_.now());
    unwritten_.insert(unwritten_.end(), std::make_move_iterator(records.begin()),
                      std::make_move_iterator(records.end()));
    write(has_other_pods);
}

// The records first: if the agent is killed in between, the next one makes them again, and the
// ledger takes them once.
void UsageMetering::write(bool has_other_pods) {
    is_state_unwritten_ = is_state_unwritten_ || has_other_pods || !unwritten_.empty();
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

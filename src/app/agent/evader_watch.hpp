// Sees programs that bypass the guard: compares what the driver says of each process with what the
// guard's accounts say (domain/usage/unaccounted.hpp), and reports pods that use more than they are
// counted for. It kills, where that is wanted, only processes that the guard does not count at all.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "domain/usage/unaccounted.hpp"
#include "ports/clock.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/pod_events.hpp"
#include "ports/process_table.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

struct EvaderPorts {
    GpuInventory& driver;
    ProcessTable& processes;
    const ShareHolder& shares;
    PodEvents& events;
};

struct EvaderOptions {
    Bytes allowance;         // for each process: what its context may take
    bool ends_them = false;  // or only says so
};

// How often in a row each was found.
template <class Key>
class InARow {
  public:
    // Once more, in this look.
    int found(const Key& key) {
        const auto before = last_.find(key);
        return now_[key] = before == last_.end() ? 1 : before->second + 1;
    }
    void end_look() { last_ = std::exchange(now_, {}); }
    void clear() { last_.clear(); }
    // In the last look.
    [[nodiscard]] bool contains(const Key& key) const { return last_.contains(key); }

  private:
    std::map<Key, int> last_;
    std::map<Key, int> now_;
};

class EvaderWatch {
  public:
    static constexpr std::chrono::seconds kPeriod{4};
    // The driver and the accounts are not read at one instant, and a process that starts or ends is
    // in one before it is in the other; who is found so often in a row is no accident.
    static constexpr int kLooks = 3;
    // A pod is reported before a process of it is killed: its user sees why.
    static constexpr int kLooksToEnd = kLooks + 1;

    EvaderWatch(EvaderPorts ports, EvaderOptions options) : ports_(ports), options_(options) {}

    // One comparison. One thread.
    void look();
    // One every kPeriod, until `stop`.
    void run(Clock& clock, const std::stop_token& stop);
    // Those that were found kLooks times, up to the last look. Any thread.
    [[nodiscard]] std::vector<Unaccounted> found() const;
    // The same of cards of which some is nobody's.
    [[nodiscard]] std::vector<Unclaimed> unclaimed() const;

  private:
    using Key = std::pair<PodUid, GpuUuid>;

    Result<std::vector<CardProcess>> read_processes();
    void look_at_cards(const std::vector<CardProcess>& processes,
                       const std::vector<ShareUse>& uses);
    // Of the pod's processes on the GPU, those that the guard does not count. Memory that the
    // driver itself takes on behalf of a process (graphs, modules, local memory of kernels) is no
    // reason to kill one that the guard counts: it is reported alone.
    std::vector<std::int64_t> uncounted(const Unaccounted& evader,
                                        const std::vector<ShareUse>& uses);
    void report(const Unaccounted& evader, bool is_ended);

    const EvaderPorts ports_;
    const EvaderOptions options_;
    InARow<Key> looks_;
    std::map<Key, bool> told_;  // in the log; true: in an event of the pod, too
    InARow<GpuUuid> card_looks_;
    bool is_blind_ = false;  // it was said that nothing can be compared
    mutable std::mutex mutex_;
    std::vector<Unaccounted> found_;    // guarded by mutex_
    std::vector<Unclaimed> unclaimed_;  // guarded by mutex_
};

}  // namespace tessera

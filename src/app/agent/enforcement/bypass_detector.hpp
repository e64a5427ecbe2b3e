// Detects programs that bypass the guard. It compares the memory that the driver reports for each
// process with the guard's accounts (domain/usage/unaccounted.hpp), and reports pods that use more
// than the accounts show. If configured to kill, it kills only processes that the guard does not
// count at all.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "app/agent/enforcement/enforcers.hpp"
#include "base/mutex.hpp"
#include "domain/usage/unaccounted.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kube/pod_events.hpp"
#include "ports/process_table.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

struct BypassPorts {
    GpuInventory& driver;
    ProcessTable& processes;
    const ShareMeter& shares;
    Enforcers enforcers;
    PodEvents& events;
};

struct BypassOptions {
    Bytes allowance;          // for each process: what its CUDA context may take
    bool kills_them = false;  // false: it only reports
};

// Counts in how many consecutive looks each key was found.
template <class Key>
class InARow {
  public:
    // Counts the key as found in this look.
    int found(const Key& key) {
        const auto before = last_.find(key);
        return now_[key] = before == last_.end() ? 1 : before->second + 1;
    }
    void end_look() { last_ = std::exchange(now_, {}); }
    void clear() { last_.clear(); }
    // Whether the last look found the key.
    [[nodiscard]] bool contains(const Key& key) const { return last_.contains(key); }

  private:
    std::map<Key, int> last_;
    std::map<Key, int> now_;
};

class BypassDetector {
  public:
    static constexpr std::chrono::seconds kPeriod{4};
    // The driver and the accounts are not read at the same instant, and a process that starts or
    // ends appears in one before the other. A pod that is found in this many consecutive looks is
    // reported.
    static constexpr int kLooks = 3;
    // A pod is reported one look before its process is killed, so that its user sees why.
    static constexpr int kLooksToEnd = kLooks + 1;

    BypassDetector(BypassPorts ports, BypassOptions options)
        : ports_(std::move(ports)), options_(options) {}

    // Compares once. Call it from one thread only.
    void look();
    // Pods found in at least kLooks consecutive looks, the last one included. Any thread.
    [[nodiscard]] std::vector<Unaccounted> found() const;
    // The same for GPUs with memory in use that no process or share accounts for. Any thread.
    [[nodiscard]] std::vector<Unclaimed> unclaimed() const;

  private:
    using Key = std::pair<PodUid, GpuUuid>;

    Result<std::vector<PodGpuProcess>> read_processes();
    void look_at_gpus(const std::vector<PodGpuProcess>& processes,
                      const std::vector<ShareUse>& uses);
    // The pod's processes on the GPU that the guard does not count. The driver itself takes memory
    // on behalf of a process (graphs, modules, local memory of kernels). That is no reason to kill
    // a process that the guard counts, so such a pod is only reported.
    std::vector<std::int64_t> uncounted(const Unaccounted& found_pod,
                                        const std::vector<ShareUse>& uses);
    void report(const Unaccounted& found_pod, bool is_ended);

    const BypassPorts ports_;
    const BypassOptions options_;
    InARow<Key> looks_;
    std::map<Key, bool> reported_;  // reported in the log; true: in a pod event, too
    InARow<GpuUuid> gpu_looks_;
    bool is_blind_ = false;  // the log already says that nothing can be compared
    mutable Mutex mutex_;
    std::vector<Unaccounted> found_ TESSERA_GUARDED_BY(mutex_);
    std::vector<Unclaimed> unclaimed_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

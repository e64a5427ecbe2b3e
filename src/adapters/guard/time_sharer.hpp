// Shares out the time of this node's GPUs among the containers with an enforced share. Each GPU has
// an arbiter (guard/arbiter/arbiter.hpp). It reads the accounts of the GPU's containers, and its
// grants are in their limits. A GPU's time is shared out as soon as a container on it has a
// guarantee or a compute limit; other GPUs cost nothing.
//
// Files that tenants write are read, never mapped, and cut back if they were made longer. A
// container with damaged accounts takes no part: it gets its guarantee. Running containers do not
// notice when the agent stops: they continue with the last grants, and after one second with their
// guarantees.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "adapters/guard/open_region.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "domain/usage/share_use.hpp"
#include "guard/arbiter/arbiter.hpp"
#include "ports/clock.hpp"

namespace tessera {

struct TimeSharerOptions {
    // With ChangedLimits::own, the containers of other users take part in the sums, and get their
    // grants from another TimeSharer.
    ChangedLimits changed = ChangedLimits::all;
    // Whether the folder is watched for new containers, because no program calls look_again().
    bool watches_folder = false;
};

class TimeSharer {
  public:
    // `pods` is the folder of the regions (guard_folder.hpp).
    TimeSharer(std::filesystem::path pods, Clock& clock, TimeSharerOptions options = {});
    ~TimeSharer();
    TimeSharer(const TimeSharer&) = delete;
    TimeSharer& operator=(const TimeSharer&) = delete;

    // Call it after a region was created or removed. Any thread.
    void look_again() { has_changed_ = true; }
    // The part of a GPU's time that counts as a container's own (POD/CONTAINER), since this object
    // first saw it. Zero for a GPU whose time is not shared out. Any thread.
    [[nodiscard]] GpuTime had(const std::string& container, const GpuUuid& gpu) const;
    // How long any of its processes had work there; as above.
    [[nodiscard]] GpuTime busy(const std::string& container, const GpuUuid& gpu) const;
    // Runs until `stop`. One thread.
    void run(const std::stop_token& stop);

  private:
    struct SharedGpu;
    using TimeOf = std::int64_t (guard::Arbiter::*)(std::uint64_t, guard::WorkKind) const;

    void look();
    // Whether the folder has changed since the last call.
    bool has_folder_changed();
    [[nodiscard]] GpuTime time_of(const std::string& container, const GpuUuid& gpu,
                                  TimeOf time) const;
    // Returns the time until the next tick. Not analysed, because it reads gpus_ without the mutex:
    // it runs in the only thread that changes gpus_.
    std::chrono::milliseconds tick() TESSERA_NO_THREAD_SAFETY_ANALYSIS;

    const std::filesystem::path pods_;
    Clock& clock_;
    const TimeSharerOptions options_;
    std::atomic<bool> has_changed_ = true;
    // Only the thread of run() changes the next two.
    mutable Mutex mutex_;
    // By POD/CONTAINER.
    std::map<std::string, std::unique_ptr<OpenRegion>> regions_ TESSERA_GUARDED_BY(mutex_);
    std::map<GpuUuid, std::unique_ptr<SharedGpu>> gpus_ TESSERA_GUARDED_BY(mutex_);
    std::chrono::nanoseconds looked_at_{};
    std::filesystem::file_time_type folder_time_{};
};

}  // namespace tessera

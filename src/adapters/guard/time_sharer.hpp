// Shares out the time of this node's cards among the containers that the guard holds: an arbiter
// for each card (guard/arbiter/arbiter.hpp), fed from the accounts of its containers, whose grants
// stand in their limits. A card's time is shared out as soon as a container on it is sure of a part
// of it, or has a ceiling; other cards cost nothing.
//
// What tenants write is read, never mapped, and cut back where it was made longer. A container
// whose accounts are damaged has no part in it: it goes by what it is sure of. Containers that run
// do not notice when this ends: they go on by what was granted last, and after a second by what
// they are sure of.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "adapters/guard/open_region.hpp"
#include "base/ids.hpp"
#include "domain/usage/share_use.hpp"
#include "guard/arbiter/arbiter.hpp"
#include "ports/clock.hpp"

namespace tessera {

class TimeSharer {
  public:
    // `pods` is the folder of the regions (guard_folder.hpp).
    TimeSharer(std::filesystem::path pods, Clock& clock);
    ~TimeSharer();
    TimeSharer(const TimeSharer&) = delete;
    TimeSharer& operator=(const TimeSharer&) = delete;

    // A region was made or removed. Any thread.
    void look_again() { has_changed_ = true; }
    // Of a card's time, what a container (POD/CONTAINER) had since it was first seen here; none of
    // a card whose time is not shared out. Any thread.
    [[nodiscard]] CardTime had(const std::string& container, const GpuUuid& card) const;
    // How long any of its processes had work there, as above.
    [[nodiscard]] CardTime busy(const std::string& container, const GpuUuid& card) const;
    // Until `stop`. One thread.
    void run(const std::stop_token& stop);

  private:
    struct Card;
    using TimeOf = std::int64_t (guard::Arbiter::*)(std::uint64_t, guard::WorkKind) const;

    void look();
    [[nodiscard]] CardTime time_of(const std::string& container, const GpuUuid& card,
                                   TimeOf time) const;
    // How long until the next tick.
    std::chrono::milliseconds tick();

    const std::filesystem::path pods_;
    Clock& clock_;
    std::atomic<bool> has_changed_ = true;
    mutable std::mutex mutex_;  // of the next two, which the thread of run() alone changes
    std::map<std::string, std::unique_ptr<OpenRegion>> held_;  // by POD/CONTAINER
    std::map<GpuUuid, std::unique_ptr<Card>> cards_;
    std::chrono::nanoseconds looked_at_{};
};

}  // namespace tessera

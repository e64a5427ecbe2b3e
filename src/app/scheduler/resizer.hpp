// Grants or refuses what users wish their running pods to have
// (docs/decisions/0013-live-limits.md). The leader reads each pod whose wish is open, decides on
// the state of that instant and reserves what grows, and writes the new allocation in the old one's
// place: one write, on the very version of the pod that was read. A lost answer needs nothing of
// its own: the pod is read again, and its version says whether the write has happened, cannot
// happen any more, or may be repeated.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/pod_resizes.hpp"
#include "wire/allocation_seal.hpp"

namespace tessera {

// All of it outlives its user.
struct ResizerTools {
    PodResizes& pods;
    PodEvents& events;
    Keeper& keeper;
    SchedulerMetrics& metrics;
    Clock& clock;
    const AllocationSeal* seal = nullptr;                       // null: allocations are not signed
    std::function<bool(std::chrono::nanoseconds)> begin_write;  // as SchedulerOptions has it
};

// Of one thread.
class Resizer {
  public:
    static constexpr std::chrono::milliseconds kPeriod{250};
    // Where the API server failed, or the watch is behind: at first, and at most.
    static constexpr std::chrono::milliseconds kShortestRest{500};
    static constexpr std::chrono::seconds kLongestRest{30};

    explicit Resizer(ResizerTools tools) : tools_(std::move(tools)) {}

    // Looks after every open wish once.
    void run_round(const std::stop_token& stop = {});
    void run(const std::stop_token& stop);

  private:
    using Time = std::chrono::nanoseconds;

    // A pod whose wish is open, or for which a write may be under way.
    struct Open {
        PodName name;
        std::string written_on;    // version of the pod that a write was for; empty: none was
        bool is_in_doubt = false;  // and it may still happen, though a later one was refused
        Time rest_until{};
        std::chrono::milliseconds rest{};
    };
    enum class Turn {
        over,
        again,
        answered,  // and to be looked after until the watch has shown it
    };

    [[nodiscard]] bool leads() const;
    [[nodiscard]] bool may_write() const;
    Result<Turn> look_after(const PodUid& uid, Open& open);
    Result<Turn> grant(Open& open, const PodResizes::Shown& pod, const ResizeTurn& turn);
    Result<Turn> refuse(const PodResizes::Shown& pod, const Error& reason);
    void tell(const PodFacts& pod, PodEventType type, const std::string& reason,
              const std::string& message);

    const ResizerTools tools_;
    std::map<PodUid, Open> open_;
};

}  // namespace tessera

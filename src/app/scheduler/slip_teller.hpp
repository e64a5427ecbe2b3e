// Tells the users of pods that wait for cards which of their annotations nobody reads: a pod that
// asks for "tessera.dev/gpu-model" would else be placed on any card without a word.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>

#include "app/scheduler/keeper.hpp"
#include "ports/clock.hpp"
#include "ports/pod_events.hpp"

namespace tessera {

// All of it outlives its user.
struct SlipTellerTools {
    PodEvents& events;
    Keeper& keeper;
    Clock& clock;
    std::function<bool(std::chrono::nanoseconds)> begin_write;  // as SchedulerOptions has it
};

// An event for each pod, and one more whenever it slips anew; of several controllers the leader
// tells, and his successor tells again of pods that are still there. Of one thread.
class SlipTeller {
  public:
    static constexpr std::chrono::seconds kPeriod{1};

    explicit SlipTeller(SlipTellerTools tools) : tools_(std::move(tools)) {}

    // Where the API server is away the next round tries again. What it refuses (a namespace that
    // is being deleted) is left untold.
    void run_round();
    void run(const std::stop_token& stop);

  private:
    const SlipTellerTools tools_;
    std::map<PodUid, PodSlips> told_;
};

}  // namespace tessera

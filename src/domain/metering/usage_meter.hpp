// Measures for how long the pods of a node have their GPUs, and makes the usage records of it.
//
// Time is measured with the clock that runs since the machine started, never with the wall clock,
// which may jump. The wall clock only says in which interval a record is:
// - A pod is charged for exactly the time that passed, whatever the wall clock shows.
// - The time in a pod's records never goes back, so that no interval is charged twice. While the
//   wall clock is behind a pod's records, they go on from where they are.
// - When the wall clock is ahead, the records follow it from the next interval on.
// - The time in which the machine was off is not charged: no container ran.
//
// The state survives the agent (wire/tessera/meter_state_json.hpp). What passed while no agent ran
// is charged to the pods that are still there afterwards. Pods that went away meanwhile are charged
// until the agent ended: when they ended is not known.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/budget/usage_record.hpp"
#include "domain/metering/metered_shares.hpp"

namespace tessera {

// The wall clock counts as at most this, in the year 2255: 64 bits end in 2262.
inline constexpr std::int64_t kLatestMeterNs = 9'000'000'000'000'000'000;

// A moment on a node.
struct MeterTime {
    std::string boot;             // differs after each start of the machine
    std::int64_t running_ns = 0;  // since the machine started, with sleep. Never goes back
    std::int64_t unix_ns = 0;     // the wall clock
};

struct MeteredPod {
    PodName name;
    std::vector<MeteredShare> shares;  // ascending by container and GPU, of which each pair is once

    friend bool operator==(const MeteredPod&, const MeteredPod&) = default;
};

// How far a pod is charged.
struct PodMeter {
    MeteredPod pod;
    std::int64_t charged_to_ns = 0;  // in the time of its records, in nanoseconds since 1970
    std::int64_t running_ns = 0;     // when that was
    // The part of the last interval that is not in a record yet, with the largest amounts that the
    // pod had in it. Empty if the window is.
    Window open;
    std::vector<MeteredShare> most;

    friend bool operator==(const PodMeter&, const PodMeter&) = default;
};

struct MeterState {
    std::string boot;
    std::map<PodUid, PodMeter> pods;

    friend bool operator==(const MeterState&, const MeterState&) = default;
};

class UsageMeter {
  public:
    // With the state that an earlier agent wrote, or none.
    explicit UsageMeter(MeterState state = {}) : state_(std::move(state)) {}

    // Call it when the pods change, and at least several times in an interval. `pods` are all pods
    // of the node that have GPUs now. Returns records: of the intervals that are over, and of the
    // pods that are. Each passes check_record.
    std::vector<UsageRecord> observe(const std::map<PodUid, MeteredPod>& pods,
                                     const MeterTime& now);

    [[nodiscard]] const MeterState& state() const { return state_; }

  private:
    void begin(const PodUid& uid, const MeteredPod& pod, const MeterTime& now);

    MeterState state_;
    bool has_observed_ = false;
};

}  // namespace tessera

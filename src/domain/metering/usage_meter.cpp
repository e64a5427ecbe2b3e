#include "domain/metering/usage_meter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "domain/budget/gpu_duration.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMostNs = std::numeric_limits<std::int64_t>::max();
// The wall clock may differ by this much from the time that passed: it is adjusted in small steps.
constexpr std::int64_t kClockDrift = 2 * kNanosPerSecond;

std::int64_t wall_clock(const MeterTime& now) {
    return std::clamp<std::int64_t>(now.unix_ns, 0, kLatestMeterNs);
}

std::int64_t interval_of(std::int64_t unix_s) {
    return unix_s / kIntervalSeconds;
}

void append_records(std::vector<UsageRecord>& records, const PodUid& uid, const PodName& name,
                    Window time, const std::vector<MeteredShare>& shares) {
    if (time.seconds() == 0) return;
    for (const MeteredShare& share : shares)
        records.push_back(usage_record(uid, name, time, share));
}

void append_open(std::vector<UsageRecord>& records, const PodUid& uid, PodMeter& meter) {
    append_records(records, uid, meter.pod.name, meter.open, meter.most);
    meter.open = {};
}

// The end of the whole intervals from `from_s` on that end before `to_s`, in one hour.
std::int64_t end_of_whole_intervals(std::int64_t from_s, std::int64_t to_s) {
    const std::int64_t hour_s = (from_s / kRollUpSeconds + 1) * kRollUpSeconds;
    return std::min(interval_of(to_s) * kIntervalSeconds, hour_s);
}

// The larger amounts of both.
void add_larger(std::vector<MeteredShare>& most, const std::vector<MeteredShare>& shares) {
    for (const MeteredShare& share : shares) {
        const auto known = std::ranges::find_if(most, [&share](const MeteredShare& other) {
            return other.container == share.container && other.gpu == share.gpu;
        });
        if (known == most.end()) {
            most.push_back(share);
            continue;
        }
        known->memory = std::max(known->memory, share.memory);
        known->capacity = std::max(known->capacity, share.capacity);
        known->compute = std::max(known->compute, share.compute);
        known->whole = known->whole || share.whole;
    }
    std::ranges::sort(most);
}

// Charges [from_ns, to_ns). Intervals that are over become records. Without an agent many may be
// over: those of an hour become one record.
void charge(std::vector<UsageRecord>& records, const PodUid& uid, PodMeter& meter,
            std::int64_t from_ns, std::int64_t to_ns) {
    std::int64_t from_s = from_ns / kNanosPerSecond;
    const std::int64_t to_s = to_ns / kNanosPerSecond;
    while (from_s < to_s) {
        if (meter.open.seconds() > 0 && interval_of(meter.open.from_s) != interval_of(from_s))
            append_open(records, uid, meter);
        const std::int64_t whole_s = end_of_whole_intervals(from_s, to_s);
        const bool is_begin = from_s % kIntervalSeconds == 0;
        if (is_begin && whole_s > from_s + kIntervalSeconds) {
            append_records(records, uid, meter.pod.name, {from_s, whole_s}, meter.pod.shares);
            from_s = whole_s;
            continue;
        }
        const std::int64_t end_s = std::min((interval_of(from_s) + 1) * kIntervalSeconds, to_s);
        if (meter.open.seconds() == 0) {
            meter.open = {from_s, end_s};
            meter.most = meter.pod.shares;
        } else {
            meter.open.to_s = end_s;
            add_larger(meter.most, meter.pod.shares);
        }
        from_s = end_s;
    }
    meter.charged_to_ns = to_ns;
}

// Charges what passed since the pod was last charged.
void charge_until(std::vector<UsageRecord>& records, const PodUid& uid, PodMeter& meter,
                  const MeterTime& now) {
    const std::int64_t passed = std::max<std::int64_t>(now.running_ns - meter.running_ns, 0);
    meter.running_ns = now.running_ns;
    std::int64_t to_ns = std::min(meter.charged_to_ns, kMostNs - passed) + passed;
    const std::int64_t wall_ns = wall_clock(now);
    // An interval has one record, from its first second to its last. So there is no gap in it.
    const bool is_later = interval_of((wall_ns - passed) / kNanosPerSecond) >
                          interval_of((meter.charged_to_ns - 1) / kNanosPerSecond);
    if (wall_ns > to_ns + kClockDrift && is_later) to_ns = wall_ns;
    charge(records, uid, meter, std::max(to_ns - passed, meter.charged_to_ns), to_ns);
}

}  // namespace

void UsageMeter::begin(const PodUid& uid, const MeteredPod& pod, const MeterTime& now) {
    state_.pods.emplace(uid, PodMeter{.pod = pod,
                                      .charged_to_ns = wall_clock(now),
                                      .running_ns = now.running_ns,
                                      .open = {},
                                      .most = {}});
}

std::vector<UsageRecord> UsageMeter::observe(const std::map<PodUid, MeteredPod>& pods,
                                             const MeterTime& now) {
    std::vector<UsageRecord> records;
    if (state_.boot != now.boot) {
        // Nothing ran since the machine went down.
        for (auto& [uid, meter] : state_.pods)
            meter.running_ns = now.running_ns;
        state_.boot = now.boot;
    }
    for (auto at = state_.pods.begin(); at != state_.pods.end();) {
        auto& [uid, meter] = *at;
        const auto present = pods.find(uid);
        const bool is_over = present == pods.end();
        // When a pod ended while no agent ran is not known.
        if (!is_over || has_observed_) charge_until(records, uid, meter, now);
        if (is_over) {
            append_open(records, uid, meter);
            at = state_.pods.erase(at);
            continue;
        }
        if (!present->second.shares.empty()) meter.pod = present->second;
        ++at;
    }
    for (const auto& [uid, pod] : pods) {
        if (!state_.pods.contains(uid)) begin(uid, pod, now);
    }
    has_observed_ = true;
    return records;
}

}  // namespace tessera

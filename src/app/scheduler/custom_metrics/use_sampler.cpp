#include "app/scheduler/custom_metrics/use_sampler.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> not_yet() {
    return fail(Code::unavailable,
                "the agents were not asked for the use of GPUs yet; the first values come within "
                "20 s of the first request");
}

}  // namespace

void UseSampler::run_round(const std::stop_token& stop) {
    {
        const MutexLock lock(mutex_);
        if (!wanted_until_ || clock_.steady() >= *wanted_until_) {
            wanted_until_.reset();
            values_.clear();
            state_ = not_yet();
            history_.clear();
            return;
        }
    }
    auto reports = reports_.read(stop);
    const std::string fault = reports ? "" : reports.error().text;
    if (!fault.empty() && fault != fault_)
        log_event(Event::custom_metrics_error, {{"reason", fault}});
    fault_ = fault;
    if (reports) {
        take(*std::move(reports));
        return;
    }
    const MutexLock lock(mutex_);
    state_ = fail(reports.error());
}

void UseSampler::take(std::vector<AgentReport> reports) {
    std::map<PodUid, Measured> values;
    for (AgentReport& report : reports) {
        std::deque<AgentReport>& of_node = history_[report.node];
        while (of_node.size() > 1 && report.at - of_node[1].at >= kWindow)
            of_node.pop_front();
        const bool has_before = !of_node.empty() && report.at - of_node.front().at < kOldest * 2;
        const auto ns = has_before ? report.at - of_node.front().at : std::chrono::nanoseconds(0);
        const auto before =
            has_before ? of_node.front().shares : decltype(of_node.front().shares)();
        for (const auto& [pod, use] : pod_gpu_uses(before, report.shares, ns.count())) {
            values[pod] = {.use = use,
                           .at = report.at,
                           .unix_s = report.unix_s,
                           .window_s = std::chrono::round<std::chrono::seconds>(ns).count()};
        }
        of_node.push_back(std::move(report));
    }
    std::erase_if(history_, [now = clock_.steady()](const auto& entry) {
        return entry.second.empty() || now - entry.second.back().at > kOldest;
    });
    const MutexLock lock(mutex_);
    // A node that missed a round keeps its values until they are too old.
    for (auto& [pod, value] : values_)
        values.emplace(pod, value);
    std::erase_if(values, [now = clock_.steady()](const auto& entry) {
        return now - entry.second.at > kOldest;
    });
    values_ = std::move(values);
    state_ = {};
}

Result<> UseSampler::want() {
    const MutexLock lock(mutex_);
    const bool is_first = !wanted_until_.has_value();
    wanted_until_ = clock_.steady() + kWantedFor;
    if (is_first) state_ = not_yet();
    return state_;
}

std::optional<PodMetricValue> UseSampler::value(const PodUid& pod, PodMetric metric) const {
    const MutexLock lock(mutex_);
    const auto found = values_.find(pod);
    if (found == values_.end() || clock_.steady() - found->second.at > kOldest) return std::nullopt;
    const Measured& measured = found->second;
    const bool is_compute = metric == PodMetric::compute_use;
    const auto milli = is_compute ? measured.use.compute : measured.use.memory;
    if (!milli) return std::nullopt;
    return PodMetricValue{
        .unix_s = measured.unix_s, .window_s = is_compute ? measured.window_s : 0, .milli = *milli};
}

}  // namespace tessera

#include "app/scheduler/custom_metrics/request_rates.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

std::vector<MeasuredPod> RequestRates::wanted() {
    const MutexLock lock(mutex_);
    std::erase_if(wanted_,
                  [now = clock_.steady()](const auto& entry) { return entry.second.until <= now; });
    std::erase_if(rates_, [this](const auto& entry)
                              TESSERA_REQUIRES(mutex_) { return !wanted_.contains(entry.first); });
    std::vector<MeasuredPod> out;
    out.reserve(wanted_.size());
    for (const auto& [uid, wanted] : wanted_)
        out.push_back(wanted.pod);
    return out;
}

void RequestRates::run_round(const std::stop_token& stop) {
    const std::vector<MeasuredPod> pods = wanted();
    if (pods.empty()) {
        history_.clear();
        return;
    }
    std::map<PodUid, Rate> rates;
    for (RequestCount& count : counts_.read(pods, stop)) {
        std::deque<RequestCount>& of_pod = history_[count.pod];
        // Its server was restarted, or the counts are too far apart.
        if (!of_pod.empty() &&
            (count.milli < of_pod.back().milli || count.at - of_pod.back().at > kOldest))
            of_pod.clear();
        while (of_pod.size() > 1 && count.at - of_pod[1].at >= kWindow)
            of_pod.pop_front();
        if (!of_pod.empty() && count.at > of_pod.front().at) {
            const auto window = count.at - of_pod.front().at;
            const auto ms = std::chrono::ceil<std::chrono::milliseconds>(window).count();
            rates[count.pod] = {
                .value = {.unix_s = count.unix_s,
                          .window_s = std::chrono::round<std::chrono::seconds>(window).count(),
                          .milli = (count.milli - of_pod.front().milli) * 1'000 / ms},
                .at = count.at};
        }
        of_pod.push_back(std::move(count));
    }
    std::erase_if(history_, [now = clock_.steady()](const auto& entry) {
        return entry.second.empty() || now - entry.second.back().at > kOldest;
    });
    const MutexLock lock(mutex_);
    for (auto& [pod, rate] : rates)
        rates_[pod] = rate;
}

void RequestRates::want(const std::string& ns, std::span<const MeasuredPod> pods) {
    const MutexLock lock(mutex_);
    auto of_namespace = static_cast<std::size_t>(
        std::ranges::count(wanted_, ns, [](const auto& entry) { return entry.second.ns; }));
    for (const MeasuredPod& pod : pods) {
        if (pod.address.empty() || !pod.counter) continue;
        const bool is_new = !wanted_.contains(pod.uid);
        if (is_new && (wanted_.size() >= kMostPods || of_namespace >= kMostOfNamespace)) continue;
        of_namespace += is_new ? 1 : 0;
        wanted_.insert_or_assign(pod.uid, Wanted{ns, pod, clock_.steady() + kWantedFor});
    }
}

std::optional<PodMetricValue> RequestRates::value(const PodUid& pod) const {
    const MutexLock lock(mutex_);
    const auto found = rates_.find(pod);
    if (found == rates_.end() || clock_.steady() - found->second.at > kOldest) return std::nullopt;
    return found->second.value;
}

}  // namespace tessera

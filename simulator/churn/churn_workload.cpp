#include "simulator/churn/churn_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tessera {
namespace {

Result<> check_pods(const Workload& workload) {
    if (workload.has_mixed_gangs) {
        return fail(Code::unsupported,
                    "the trace has a gang whose pods have different requests; this command needs "
                    "gangs of identical pods");
    }
    const auto has_gpu = [](const TimedTask& pod) { return milli_of(pod.task) > 0; };
    if (std::ranges::none_of(workload.pods, has_gpu))
        return fail(Code::invalid_argument, "no pod of the trace requests a GPU");
    return {};
}

double lasts(const TimedTask& pod, const ChurnOptions& options) {
    return std::min(static_cast<double>(pod.lasts_s.value_or(0)), options.longest_s);
}

// Whether the pod arrives repeatedly.
bool comes(const TimedTask& pod, const ChurnOptions& options) {
    return lasts(pod, options) > 0 && pod.gang > 0;
}

// The rate of each pod's arrivals, per second. Errors: check_churn_tasks().
Result<double> rate_of(const Workload& workload, const ChurnOptions& options) {
    TRY_VOID(check_pods(workload));
    double asked = 0;  // milli times seconds, of each pod once
    for (const TimedTask& pod : workload.pods)
        asked += static_cast<double>(milli_of(pod.task)) * pod.gang * lasts(pod, options);
    if (asked <= 0) {
        return fail(Code::invalid_argument,
                    "the trace has no times, and churn needs the run time of each pod with GPUs: "
                    "in openb's format the columns creation_time, scheduled_time and "
                    "deletion_time");
    }
    double capacity = 0;  // milli
    for (const NodeShape& node : workload.nodes)
        capacity += static_cast<double>(node.gpus) * kMilliPerGpu;
    const double score = options.load * capacity / asked;
    double tasks = 0;
    for (const TimedTask& pod : workload.pods) {
        if (comes(pod, options)) tasks += score * (lasts(pod, options) + options.ends_s);
    }
    if (tasks <= kMostChurnTasks) return score;
    return fail(Code::invalid_argument,
                fmt::format("about {:.0f} tasks would arrive, and at most {:.0f} are supported; "
                            "set fewer --days, or a shorter --longest",
                            tasks, kMostChurnTasks));
}

}  // namespace

Result<> check_churn_tasks(const Workload& workload, const ChurnOptions& options) {
    TRY_VOID(rate_of(workload, options));
    return {};
}

Result<std::vector<ChurnTask>> churn_tasks(const Workload& workload, const ChurnOptions& options) {
    TRY(const double score, rate_of(workload, options));
    std::mt19937_64 draws(options.seed);
    std::vector<ChurnTask> tasks;
    for (const TimedTask& pod : workload.pods) {
        if (!comes(pod, options)) continue;
        const double whole = lasts(pod, options);
        std::poisson_distribution<int> there(score * whole);
        std::uniform_real_distribution<double> left(0, whole);
        for (int i = there(draws); i > 0; --i)
            tasks.push_back({pod.task, 0, left(draws), pod.gang, pod.cap});
    }
    std::ranges::shuffle(tasks, draws);
    const auto later = static_cast<std::ptrdiff_t>(tasks.size());
    for (const TimedTask& pod : workload.pods) {
        if (!comes(pod, options)) continue;
        const double whole = lasts(pod, options);
        std::exponential_distribution<double> gap(score);
        double at = gap(draws);
        while (at < options.ends_s) {
            tasks.push_back({pod.task, at, whole, pod.gang, pod.cap});
            at += gap(draws);
        }
    }
    std::ranges::stable_sort(tasks.begin() + later, tasks.end(), {}, &ChurnTask::comes_s);
    return tasks;
}

Result<std::vector<ChurnTask>> recorded_tasks(const Workload& workload) {
    TRY_VOID(check_pods(workload));
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (const TimedTask& pod : workload.pods) {
        if (!pod.came_s) {
            return fail(Code::invalid_argument,
                        "the trace has no arrival times of its pods, which --load as-recorded "
                        "needs: in openb's format the columns creation_time, scheduled_time and "
                        "deletion_time");
        }
        first = std::min(first, *pod.came_s);
        last = std::max(last, *pod.came_s + pod.lasts_s.value_or(0));
    }
    std::vector<ChurnTask> tasks;
    tasks.reserve(workload.pods.size());
    for (const TimedTask& pod : workload.pods) {
        if (pod.gang == 0) continue;
        const std::int64_t lasts_s = pod.lasts_s.value_or(last - *pod.came_s);
        tasks.push_back({pod.task, static_cast<double>(*pod.came_s - first),
                         static_cast<double>(lasts_s), pod.gang, pod.cap});
    }
    std::ranges::stable_sort(tasks, {}, &ChurnTask::comes_s);
    return tasks;
}

}  // namespace tessera

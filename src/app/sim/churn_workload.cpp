#include "app/sim/churn_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tessera {
namespace {

Result<> check_pods(const Workload& workload) {
    if (workload.has_mixed_gangs) {
        return fail(Code::unsupported,
                    "the trace has a gang whose pods ask for different things; here all pods of a "
                    "gang are alike");
    }
    const auto has_card = [](const TimedTask& pod) { return milli_of(pod.task) > 0; };
    if (std::ranges::none_of(workload.pods, has_card))
        return fail(Code::invalid_argument, "none of the trace's pods asks for a card");
    return {};
}

double lasts(const TimedTask& pod, const ChurnOptions& options) {
    return std::min(static_cast<double>(pod.lasts_s.value_or(0)), options.longest_s);
}

// Whether it comes again and again.
bool comes(const TimedTask& pod, const ChurnOptions& options) {
    return lasts(pod, options) > 0 && pod.gang > 0;
}

// Of each pod, per second. Errors: check_churn_tasks().
Result<double> rate_of(const Workload& workload, const ChurnOptions& options) {
    TRY_VOID(check_pods(workload));
    double asked = 0;  // milli x seconds, of each pod once
    for (const TimedTask& pod : workload.pods)
        asked += static_cast<double>(milli_of(pod.task)) * pod.gang * lasts(pod, options);
    if (asked <= 0) {
        return fail(Code::invalid_argument,
                    "the trace tells no times, which churn needs: how long each pod with cards "
                    "ran, in openb's form the columns creation_time, scheduled_time and "
                    "deletion_time");
    }
    double capacity = 0;  // milli
    for (const NodeShape& node : workload.nodes)
        capacity += static_cast<double>(node.cards) * kMilliPerCard;
    const double rate = options.load * capacity / asked;
    double tasks = 0;
    for (const TimedTask& pod : workload.pods) {
        if (comes(pod, options)) tasks += rate * (lasts(pod, options) + options.ends_s);
    }
    if (tasks <= kMostChurnTasks) return rate;
    return fail(Code::invalid_argument,
                fmt::format("some {:.0f} tasks would come, and {:.0f} are the most that are held "
                            "at once; ask for fewer --days, or a shorter --longest",
                            tasks, kMostChurnTasks));
}

}  // namespace

Result<> check_churn_tasks(const Workload& workload, const ChurnOptions& options) {
    TRY_VOID(rate_of(workload, options));
    return {};
}

Result<std::vector<ChurnTask>> churn_tasks(const Workload& workload, const ChurnOptions& options) {
    TRY(const double rate, rate_of(workload, options));
    std::mt19937_64 draws(options.seed);
    std::vector<ChurnTask> tasks;
    for (const TimedTask& pod : workload.pods) {
        if (!comes(pod, options)) continue;
        const double whole = lasts(pod, options);
        std::poisson_distribution<int> there(rate * whole);
        std::uniform_real_distribution<double> left(0, whole);
        for (int i = there(draws); i > 0; --i)
            tasks.push_back({pod.task, 0, left(draws), pod.gang, pod.cap});
    }
    std::ranges::shuffle(tasks, draws);
    const auto later = static_cast<std::ptrdiff_t>(tasks.size());
    for (const TimedTask& pod : workload.pods) {
        if (!comes(pod, options)) continue;
        const double whole = lasts(pod, options);
        std::exponential_distribution<double> gap(rate);
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
                        "the trace does not tell when its pods came, which --load as-recorded "
                        "needs: in openb's form the columns creation_time, scheduled_time and "
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

#include "app/scheduler/observe/metrics.hpp"

#include <array>
#include <atomic>

#include "app/metrics/families.hpp"
#include "app/scheduler/observe/gpu_gauges.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

const prom::Histogram::BucketBoundaries& buckets() {
    static const prom::Histogram::BucketBoundaries bounds = {
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15};
    return bounds;
}

struct WatchedRow {
    Watched what;
    const char* name;
};
constexpr auto kWatched =
    std::to_array<WatchedRow>({{Watched::nodes, "nodes"}, {Watched::pods, "pods"}});

std::size_t number(Watched what) {
    return static_cast<std::size_t>(what);
}

double seconds(std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
}

// Families that exist for one exposition, so that a GPU that is gone disappears.
class Gauges {
  public:
    explicit Gauges(prom::Registry& now) : now_(now) {}

    void set_budgets(const BudgetTable::Rows& budgets) {
        const auto gpu_seconds = [](GpuDuration duration) {
            return static_cast<double>(duration.nanos) / static_cast<double>(kNanosPerSecond);
        };
        for (const auto& [ns, budget] : budgets) {
            const prom::Labels labels{{"namespace", ns}, {"budget", budget.budget}};
            budget_granted_.Add(labels).Set(gpu_seconds(budget.verdict.granted));
            budget_used_.Add(labels).Set(gpu_seconds(budget.verdict.used));
            budget_spent_.Add(labels).Set(budget.verdict.is_spent ? 1 : 0);
        }
    }

    void set_nodes(const Snapshot& snapshot) {
        int over = 0;
        std::array<int, 3> states{};
        for (const auto& node : snapshot.nodes()) {
            const NodeInventory& inventory = node->inventory;
            if (inventory.gpus.empty() && inventory.fault.empty()) continue;
            ++states.at(!inventory.fault.empty() ? 2 : node->blocked.empty() ? 0 : 1);
            for (std::size_t i = 0; i < node->gpus.size(); ++i) {
                over += node->gpus[i].allocated > node->gpus[i].capacity ? 1 : 0;
                show_condition(inventory.name, inventory.gpus[i]);
            }
        }
        overcommitted_.Add({}).Set(over);
        nodes_.Add({{"state", "open"}}).Set(states[0]);
        nodes_.Add({{"state", "blocked"}}).Set(states[1]);
        nodes_.Add({{"state", "unreadable"}}).Set(states[2]);
        unobserved_.Add({}).Set(static_cast<double>(snapshot.unobserved_count()));
    }

    void set_waiting(const WaitingCounts& waiting) {
        for (const UnschedulableReasonRow& row : kUnschedulableReasons) {
            const auto& of = waiting.by_reason.at(static_cast<std::size_t>(row.reason));
            const prom::Labels labels{{"reason", std::string(row.name)}};
            pending_pods_.Add(labels).Set(of.pods);
            pending_oldest_.Add(labels).Set(seconds(of.longest));
        }
        pending_pods_.Add({{"reason", "not_refused"}}).Set(waiting.not_refused);
    }

    void set_states(const SchedulerFacts& facts) {
        synced_.Add({}).Set(facts.synced ? 1 : 0);
        leading_.Add({}).Set(facts.leads ? 1 : 0);
        reservations_.Add({}).Set(static_cast<double>(facts.reservations));
        nominated_.Add({}).Set(static_cast<double>(facts.nominated));
    }

    void set_watch_age(const char* resource, std::chrono::nanoseconds age) {
        watch_age_.Add({{"resource", resource}}).Set(seconds(age));
    }

  private:
    void show_condition(const NodeName& node, const Gpu& gpu) {
        if (gpu.usable()) return;
        (gpu.condition == GpuCondition::unhealthy ? gpu_unhealthy_ : gpu_not_shareable_)
            .Add({{"node", node.str()},
                  {"gpu", std::to_string(gpu.index)},
                  {"uuid", gpu.uuid.str()},
                  {"reason", gpu.reason}})
            .Set(1);
    }

    prom::Registry& now_;
#define METRIC(kind, name, exposed, help) METRIC_##kind(name, exposed, help)
#define METRIC_gauge(name, exposed, help) \
    prom::Family<prom::Gauge>& name##_ = gauge(now_, exposed, help);
#define METRIC_gpu_gauge(name, exposed, help)
#define METRIC_counter(name, exposed, help)
#define METRIC_histogram(name, exposed, help)
#include "app/scheduler/observe/metrics.def"
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
};

constexpr std::array<std::pair<NominationOutcome, const char*>, 6> kOutcomes{{
    {NominationOutcome::made, "made"},
    {NominationOutcome::followed, "followed"},
    {NominationOutcome::not_followed, "not_followed"},
    {NominationOutcome::expired, "expired"},
    {NominationOutcome::failed, "failed"},
    {NominationOutcome::overtaken, "overtaken"},
}};

}  // namespace

class SchedulerMetrics::Impl {
  public:
    // Zero is shown, too: a rate counts the first event only if there was a value before.
    Impl(Clock& clock, ReadProcess process) : clock_(clock), process_(std::move(process)) {
        watch_errors_.Add({});
        preempted_.Add({});
        given_up_.Add({});
        for (const bool is_granted : {true, false})
            resizes(is_granted);
        for (const auto& [outcome, name] : kOutcomes)
            nominations_.Add({{"outcome", name}});
    }

    void observe(std::string_view verb, std::chrono::nanoseconds took, bool failed) {
        const prom::Labels labels{{"verb", std::string(verb)}};
        verb_seconds_.Add(labels, buckets()).Observe(seconds(took));
        if (failed) verb_errors_.Add(labels).Increment();
    }

    void count_watch_error() { watch_errors_.Add({}).Increment(); }
    void count_preempted() { preempted_.Add({}).Increment(); }
    void count_given_up() { given_up_.Add({}).Increment(); }
    void count_resize(bool is_granted) { resizes(is_granted).Increment(); }
    void count_nomination(NominationOutcome outcome) {
        const auto* row =
            std::ranges::find(kOutcomes, outcome, [](const auto& r) { return r.first; });
        nominations_.Add({{"outcome", row->second}}).Increment();
    }

    void count_list(Watched what) {
        lists_.Add({{"resource", kWatched.at(number(what)).name}}).Increment();
        if (listed_.at(number(what)).exchange(true)) {
            reconciliations_.Add({{"kind", "relist"}}).Increment();
        }
    }

    void heard(Watched what) { heard_.at(number(what)) = clock_.steady(); }

    std::string expose(const SchedulerFacts& facts) {
        // One at a time: the text of a large cluster has 20 MB.
        const MutexLock lock(exposing_);
        prom::Registry now;
        Gauges gauges(now);
        gauges.set_nodes(facts.snapshot);
        gauges.set_waiting(facts.waiting);
        gauges.set_states(facts);
        if (facts.budgets) gauges.set_budgets(*facts.budgets);
        for (const WatchedRow& row : kWatched) {
            const std::chrono::nanoseconds heard = heard_.at(number(row.what));
            gauges.set_watch_age(row.name, clock_.steady() - heard);
        }
        for (const Event event : {Event::bind_reconciled, Event::allocation_changed})
            update_reconciliation_counter(event);
        if (process_) add_process(now, process_());
        std::string text = exposition({&registry_, &now});
        append_gpu_gauges(text, facts.snapshot);
        return text;
    }

  private:
    prom::Counter& resizes(bool is_granted) {
        return resizes_.Add({{"outcome", is_granted ? "granted" : "refused"}});
    }

    // Events are logged where they happen, and counted there, too.
    void update_reconciliation_counter(Event event) {
        auto& shown = reconciliations_.Add({{"kind", std::string(event_name(event))}});
        shown.Increment(static_cast<double>(event_count(event)) - shown.Value());
    }

    Clock& clock_;
    const ReadProcess process_;
    const std::chrono::nanoseconds begun_ = clock_.steady();
    std::array<std::atomic<std::chrono::nanoseconds>, kWatched.size()> heard_{begun_, begun_};
    std::array<std::atomic<bool>, kWatched.size()> listed_{};
    Mutex exposing_;
    prom::Registry registry_;
#define METRIC_gauge(name, exposed, help)
#define METRIC_counter(name, exposed, help) \
    prom::Family<prom::Counter>& name##_ = counter(registry_, exposed, help);
#define METRIC_histogram(name, exposed, help) \
    prom::Family<prom::Histogram>& name##_ = histogram(registry_, exposed, help);
#include "app/scheduler/observe/metrics.def"
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
#undef METRIC_gpu_gauge
#undef METRIC
};

SchedulerMetrics::SchedulerMetrics(Clock& clock, ReadProcess process)
    : impl_(std::make_unique<Impl>(clock, std::move(process))) {}
SchedulerMetrics::~SchedulerMetrics() = default;

void SchedulerMetrics::observe(std::string_view verb, std::chrono::nanoseconds took, bool failed) {
    impl_->observe(verb, took, failed);
}

void SchedulerMetrics::count_watch_error() {
    impl_->count_watch_error();
}

void SchedulerMetrics::count_preempted() {
    impl_->count_preempted();
}

void SchedulerMetrics::count_given_up() {
    impl_->count_given_up();
}

void SchedulerMetrics::count_resize(bool is_granted) {
    impl_->count_resize(is_granted);
}

void SchedulerMetrics::count_nomination(NominationOutcome outcome) {
    impl_->count_nomination(outcome);
}

void SchedulerMetrics::count_list(Watched what) {
    impl_->count_list(what);
}

void SchedulerMetrics::heard(Watched what) {
    impl_->heard(what);
}

std::string SchedulerMetrics::expose(const SchedulerFacts& facts) {
    return impl_->expose(facts);
}

}  // namespace tessera

#include "app/scheduler/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace tessera {
namespace {

namespace prom = prometheus;

prom::Family<prom::Counter>& counter(prom::Registry& registry, const char* name, const char* help) {
    return prom::BuildCounter().Name(name).Help(help).Register(registry);
}
prom::Family<prom::Gauge>& gauge(prom::Registry& registry, const char* name, const char* help) {
    return prom::BuildGauge().Name(name).Help(help).Register(registry);
}
prom::Family<prom::Histogram>& histogram(prom::Registry& registry, const char* name,
                                         const char* help) {
    return prom::BuildHistogram().Name(name).Help(help).Register(registry);
}

const prom::Histogram::BucketBoundaries& buckets() {
    static const prom::Histogram::BucketBoundaries bounds = {
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 15};
    return bounds;
}

}  // namespace

class SchedulerMetrics::Impl {
  public:
    void observe(std::string_view verb, std::chrono::nanoseconds took, bool failed) {
        const prom::Labels labels{{"verb", std::string(verb)}};
        verb_seconds_.Add(labels, buckets()).Observe(std::chrono::duration<double>(took).count());
        if (failed) verb_errors_.Add(labels).Increment();
    }

    void count_api_trouble() { api_trouble_.Add({}).Increment(); }

    std::string expose(const ClusterView& view, std::size_t pending, bool is_synced, bool leads) {
        // Gauges of the view live for one exposition: a card that is gone must not be shown for
        // ever.
        prom::Registry now;
#define METRIC(kind, name, exposed, help) METRIC_##kind(name, exposed, help)
#define METRIC_gauge(name, exposed, help) auto& name = gauge(now, exposed, help);
#define METRIC_counter(name, exposed, help)
#define METRIC_histogram(name, exposed, help)
#include "app/scheduler/metrics.def"
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
        int over = 0;
        for (const auto& node : view.nodes()) {
            for (std::size_t i = 0; i < node->cards.size(); ++i) {
                const Gpu& gpu = node->inventory.gpus[i];
                const prom::Labels labels{{"node", node->inventory.name.str()},
                                          {"gpu", std::to_string(gpu.index)},
                                          {"uuid", gpu.uuid.str()}};
                card_capacity.Add(labels).Set(static_cast<double>(node->cards[i].capacity.count));
                card_held.Add(labels).Set(static_cast<double>(node->cards[i].held.count));
                card_healthy.Add(labels).Set(node->cards[i].healthy ? 1 : 0);
                over += node->cards[i].held > node->cards[i].capacity ? 1 : 0;
            }
        }
        overcommitted.Add({}).Set(over);
        unseen.Add({}).Set(static_cast<double>(view.unseen_count()));
        pending_pods.Add({}).Set(static_cast<double>(pending));
        synced.Add({}).Set(is_synced ? 1 : 0);
        leading.Add({}).Set(leads ? 1 : 0);
        auto families = registry_.Collect();
        auto gauges = now.Collect();
        families.insert(families.end(), gauges.begin(), gauges.end());
        return prom::TextSerializer().Serialize(families);
    }

  private:
    prom::Registry registry_;
#define METRIC_gauge(name, exposed, help)
#define METRIC_counter(name, exposed, help) \
    prom::Family<prom::Counter>& name##_ = counter(registry_, exposed, help);
#define METRIC_histogram(name, exposed, help) \
    prom::Family<prom::Histogram>& name##_ = histogram(registry_, exposed, help);
#include "app/scheduler/metrics.def"
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
#undef METRIC
};

SchedulerMetrics::SchedulerMetrics() : impl_(std::make_unique<Impl>()) {}
SchedulerMetrics::~SchedulerMetrics() = default;

void SchedulerMetrics::observe(std::string_view verb, std::chrono::nanoseconds took, bool failed) {
    impl_->observe(verb, took, failed);
}

void SchedulerMetrics::count_api_trouble() {
    impl_->count_api_trouble();
}

std::string SchedulerMetrics::expose(const ClusterView& view, std::size_t pending_pods, bool synced,
                                     bool leads) {
    return impl_->expose(view, pending_pods, synced, leads);
}

}  // namespace tessera

#include "wire/workload/scaler_json.hpp"

#include <algorithm>
#include <limits>

#include "domain/autoscaling/pod_metric.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/serving_json.hpp"

namespace tessera::workload {
namespace {

void write_metric(JsonWriter& w, PodMetric metric, int average) {
    w.object([&] {
        w.member("type", "Pods");
        w.object("pods", [&] {
            w.object("metric", [&] { w.member("name", row_of(metric).name); });
            w.object("target", [&] {
                w.member("type", "AverageValue");
                w.member("averageValue", std::to_string(average));
            });
        });
    });
}

// The members of the spec that the flags decide.
void write_scaling(JsonWriter& w, const Scaling& scaling) {
    w.member("minReplicas", scaling.least);
    w.member("maxReplicas", scaling.most);
    w.array("metrics", [&] {
        if (scaling.gpu_use > 0) write_metric(w, PodMetric::compute_use, scaling.gpu_use);
        if (scaling.request_rate > 0)
            write_metric(w, PodMetric::request_rate, scaling.request_rate);
    });
    w.object("behavior", [&] {
        w.object("scaleDown",
                 [&] { w.member("stabilizationWindowSeconds", scaling.scale_down_delay_s); });
    });
}

int count_of(JsonValue value) {
    return static_cast<int>(
        std::clamp<std::int64_t>(value.integer().value_or(0), 0, std::numeric_limits<int>::max()));
}

std::string current_of(JsonValue scaler, std::string_view name) {
    for (const JsonValue metric : scaler["status"]["currentMetrics"].elements()) {
        const JsonValue pods = metric["pods"];
        if (pods["metric"]["name"].text() == name)
            return pods["current"]["averageValue"].text_or("");
    }
    return {};
}

// The conditions come in any order. A limit is named only if nothing else keeps it from scaling.
std::string reason_of(JsonValue scaler) {
    std::string limited;
    for (const JsonValue condition : scaler["status"]["conditions"].elements()) {
        const auto type = condition["type"].text_or("");
        const bool is_true = condition["status"].text() == "True";
        const bool is_false = condition["status"].text() == "False";
        if ((type == "ScalingActive" || type == "AbleToScale") && is_false)
            return condition["message"].text_or("");
        if (type == "ScalingLimited" && is_true) limited = condition["message"].text_or("");
    }
    return limited;
}

}  // namespace

std::string write_scaler(const Serving& job, std::string_view owner_uid) {
    const std::string name = job.id.object();
    JsonWriter w;
    w.object([&] {
        write_head(w, {.api = "autoscaling/v2",
                       .kind = "HorizontalPodAutoscaler",
                       .name = name,
                       .ns = job.ns,
                       .labels = serving_labels(job),
                       .owner = serving_owner(name, owner_uid)});
        w.object("spec", [&] {
            w.object("scaleTargetRef", [&] {
                w.member("apiVersion", "apps/v1");
                w.member("kind", "Deployment");
                w.member("name", name);
            });
            write_scaling(w, *job.scaling);
        });
    });
    return w.take();
}

std::string write_scaler_update(const Serving& job) {
    JsonWriter w;
    w.object([&] { w.object("spec", [&] { write_scaling(w, *job.scaling); }); });
    return w.take();
}

ScalingStatus read_scaler(JsonValue scaler) {
    const JsonValue spec = scaler["spec"];
    ScalingStatus out{.least = spec["minReplicas"].present() ? count_of(spec["minReplicas"]) : 1,
                      .most = count_of(spec["maxReplicas"]),
                      .desired = count_of(scaler["status"]["desiredReplicas"]),
                      .metrics = {},
                      .why = reason_of(scaler)};
    for (const JsonValue metric : spec["metrics"].elements()) {
        const JsonValue pods = metric["pods"];
        std::string name = pods["metric"]["name"].text_or("");
        if (name.empty()) continue;  // another program added a metric of another kind
        std::string current = current_of(scaler, name);
        out.metrics.push_back({.name = std::move(name),
                               .target = pods["target"]["averageValue"].text_or(""),
                               .current = std::move(current)});
    }
    return out;
}

}  // namespace tessera::workload

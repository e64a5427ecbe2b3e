#include "app/scheduler/observe/gpu_gauges.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

// A GPU in its current state, with its labels as text.
struct GpuNow {
    std::string labels;
    GpuState gpu;
    Bytes reserved;  // part of gpu.allocated: for Bindings that no watch has shown
    bool unhealthy = false;
};

// The values of the rows of metrics.def, by their names there.
double gpu_capacity(const GpuNow& now) {
    return static_cast<double>(now.gpu.capacity.count);
}
double gpu_allocated(const GpuNow& now) {
    return static_cast<double>((now.gpu.allocated - now.reserved).count);
}
double gpu_reserved(const GpuNow& now) {
    return static_cast<double>(now.reserved.count);
}
double gpu_compute(const GpuNow& now) {
    return now.gpu.allocated_cores.value / 100.0;
}
double gpu_pods(const GpuNow& now) {
    return now.gpu.pods;
}
double gpu_healthy(const GpuNow& now) {
    return now.unhealthy ? 0 : 1;
}

struct GpuGauge {
    std::string_view name;
    std::string_view help;
    double (*value)(const GpuNow&);
};

constexpr auto kGauges = std::to_array<GpuGauge>({
#define METRIC(kind, name, exposed, help) METRIC_##kind(name, exposed, help)
#define METRIC_gpu_gauge(name, exposed, help) {exposed, help, name},
#define METRIC_gauge(name, exposed, help)
#define METRIC_counter(name, exposed, help)
#define METRIC_histogram(name, exposed, help)
#include "app/scheduler/observe/metrics.def"
#undef METRIC_gpu_gauge
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC_histogram
#undef METRIC
});

// Escapes the characters that a label's value must not contain.
std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

void add_gpus(const NodeInfo& node, std::vector<GpuNow>& out) {
    const std::vector<Gpu>& gpus = node.inventory.gpus;
    std::vector<GpuState> reserved(node.gpus.size());
    for (std::size_t i = 0; i < reserved.size(); ++i)
        reserved[i].capacity = node.gpus[i].capacity;
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        if (assigned_pod->stage != Stage::observed)
            count_allocated(*assigned_pod, gpus, reserved, +1);
    }
    const std::string name = escaped(node.inventory.name.str());
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        out.push_back({fmt::format(R"({{gpu="{}",node="{}",uuid="{}"}})", gpus[i].index, name,
                                   escaped(gpus[i].uuid.str())),
                       node.gpus[i], reserved[i].allocated,
                       gpus[i].condition == GpuCondition::unhealthy});
    }
}

}  // namespace

void append_gpu_gauges(std::string& text, const Snapshot& snapshot) {
    std::vector<GpuNow> gpus;
    for (const auto& node : snapshot.nodes())
        add_gpus(*node, gpus);
    if (gpus.empty()) return;
    constexpr std::size_t kNameAndValue = 64;
    text.reserve(text.size() +
                 kGauges.size() * gpus.size() * (kNameAndValue + gpus.front().labels.size()));
    auto out = std::back_inserter(text);
    for (const GpuGauge& gauge : kGauges) {
        fmt::format_to(out, "# HELP {0} {1}\n# TYPE {0} gauge\n", gauge.name, gauge.help);
        for (const GpuNow& gpu : gpus)
            fmt::format_to(out, "{}{} {}\n", gauge.name, gpu.labels, gauge.value(gpu));
    }
}

}  // namespace tessera

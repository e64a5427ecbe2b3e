#include "app/workload/view_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

Bytes memory_of(const GpuUuid& uuid, const WorkloadView& view) {
    for (const NodeInventory& node : view.nodes) {
        const auto gpu = std::ranges::find(node.gpus, uuid, &Gpu::uuid);
        if (gpu != node.gpus.end()) return gpu->capacity();
    }
    return {};
}

}  // namespace

std::string age_text(std::int64_t seconds) {
    struct Unit {
        std::int64_t seconds;
        char letter;
    };
    constexpr std::int64_t kDay = 86'400;
    constexpr auto kUnits =
        std::to_array<Unit>({{365 * kDay, 'y'}, {kDay, 'd'}, {3'600, 'h'}, {60, 'm'}});
    for (const Unit& unit : kUnits) {
        if (seconds >= unit.seconds)
            return fmt::format("{}{}", seconds / unit.seconds, unit.letter);
    }
    return fmt::format("{}s", std::max<std::int64_t>(seconds, 0));
}

double gpus_in_use(const workload::WorkloadPod& pod, const WorkloadView& view) {
    double sum = 0;
    if (pod.phase != "Running") return sum;
    for (const GpuShare& share : pod.gpus) {
        const Bytes memory = share.whole ? Bytes{} : memory_of(share.uuid, view);
        if (share.whole) sum += 1;
        if (memory.count > 0)
            sum += static_cast<double>(share.memory.count) / static_cast<double>(memory.count);
    }
    return sum;
}

std::string tenths(double value) {
    const double rounded = std::round(value * 10) / 10;
    return rounded == std::floor(rounded) ? fmt::format("{:.0f}", rounded)
                                          : fmt::format("{:.1f}", rounded);
}

std::string memory_text(const workload::Gpus& gpus) {
    return gpus.is_share() ? to_string(gpus.memory) : "N/A";
}

std::string cores_text(const workload::Gpus& gpus) {
    return gpus.cores.value > 0 ? fmt::format("{}%", gpus.cores.value) : "N/A";
}

std::string allocated_text(const workload::WorkloadPod& pod) {
    std::string out;
    for (const GpuShare& share : pod.gpus) {
        out += out.empty() ? "" : ",";
        out += share.whole ? fmt::format("gpu{}", share.index)
                           : fmt::format("gpu{}({})", share.index, to_string(share.memory));
    }
    return or_none(out);
}

std::string or_none(const std::string& text) {
    return text.empty() ? "N/A" : text;
}

void write_gpus(JsonWriter& w, const workload::WorkloadPod& pod) {
    w.array("gpus", [&] {
        for (const GpuShare& share : pod.gpus) {
            w.object([&] {
                w.member("uuid", share.uuid.str());
                w.member("index", share.index);
                w.member("memoryBytes", share.memory.count);
                w.member("coresPercent", share.cores.value);
            });
        }
    });
}

}  // namespace tessera

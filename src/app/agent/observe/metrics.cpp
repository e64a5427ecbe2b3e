#include "app/agent/observe/metrics.hpp"

#include "app/metrics/families.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

struct ResultRow {
    const char* result;
    Event event;
};
constexpr auto kResults = std::to_array<ResultRow>({
    {"completed", Event::gpus_injected},
    {"refused", Event::container_refused},
    {"unshared", Event::container_unshared},
});

double in_seconds(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

void add_times(prom::Family<prom::Counter>& family, prom::Labels labels, const GpuTime& time) {
    labels["kind"] = "kernels";
    family.Add(labels).Increment(in_seconds(time.kernels_ns));
    labels["kind"] = "copies";
    family.Add(labels).Increment(in_seconds(time.copies_ns));
}

}  // namespace

std::string agent_exposition(const NodeInventory& node, const GpuReadings& readings,
                             const UsageReport& shares, const MpsReport& mps,
                             const std::optional<SpoolUse>& usage, const ProcessFacts& process) {
    prom::Registry now;
#define METRIC(kind, name, exposed, help) auto& name = kind(now, exposed, help);
#include "app/agent/observe/metrics.def"
#undef METRIC
    const auto labels_of = [&](const auto& gpu) {
        return prom::Labels{{"node", node.name.str()},
                            {"gpu", std::to_string(gpu.index)},
                            {"uuid", gpu.uuid.str()}};
    };
    for (const Gpu& gpu : node.gpus) {
        gpu_memory.Add(labels_of(gpu)).Set(static_cast<double>(gpu.memory.count));
        gpu_healthy.Add(labels_of(gpu)).Set(gpu.condition == GpuCondition::unhealthy ? 0 : 1);
    }
    for (const GpuReading& gpu : readings.gpus) {
        // The memory in use on a GPU that does not answer is unknown.
        if (!gpu.lost.empty() || readings.is_released) continue;
        gpu_used.Add(labels_of(gpu)).Set(static_cast<double>(gpu.used.count));
    }
    // The agent does not read a driver that it has released, so its age has no meaning.
    if (!readings.is_released)
        driver_age.Add({}).Set(std::chrono::duration<double>(readings.age).count());
    for (const ShareUse& use : shares.uses) {
        const prom::Labels labels = {
            {"pod_uid", use.pod.str()}, {"container", use.container}, {"uuid", use.gpu.str()}};
        share_held.Add(labels).Set(static_cast<double>(use.used.count));
        share_limit.Add(labels).Set(static_cast<double>(use.limit.count));
        share_refusals.Add(labels).Increment(static_cast<double>(use.refusals));
        share_context_refusals.Add(labels).Increment(static_cast<double>(use.refused_contexts));
        share_waited.Add(labels).Increment(in_seconds(use.waited_ns));
        add_times(share_busy, labels, use.in_flight);
        add_times(share_time, labels, use.had);
    }
    for (const Unaccounted& found_pod : shares.bypassing) {
        unaccounted.Add({{"pod_uid", found_pod.pod.str()}, {"uuid", found_pod.gpu.str()}})
            .Set(static_cast<double>((found_pod.used - found_pod.accounted).count));
    }
    for (const Unclaimed& gpu : shares.unclaimed) {
        unclaimed.Add({{"uuid", gpu.gpu.str()}})
            .Set(static_cast<double>((gpu.used - gpu.claimed).count));
    }
    if (mps.is_offered) {
        mps_supervised.Add({}).Set(mps.is_supervised ? 1 : 0);
        mps_faults.Add({}).Increment(static_cast<double>(event_count(Event::mps_client_fault)));
    }
    for (const MpsGpuReport& gpu : mps.gpus) {
        const MpsState& state = gpu.state;
        const prom::Labels labels = {{"uuid", state.gpu.str()}};
        const bool is_ready = mps.is_supervised && gpu.is_current && state.phase == MpsPhase::ready;
        mps_ready.Add(labels).Set(is_ready ? 1 : 0);
        mps_clients.Add(labels).Set(static_cast<double>(client_count(state)));
        mps_servers_lost.Add(labels).Increment(state.servers_lost);
        mps_daemon_failures.Add(labels).Increment(state.failures);
    }
    if (usage) {
        usage_waiting.Add({}).Set(static_cast<double>(usage->bytes));
        usage_lost.Add({}).Increment(static_cast<double>(usage->lost));
    }
    for (const ResultRow& row : kResults) {
        containers.Add({{"result", row.result}})
            .Increment(static_cast<double>(event_count(row.event)));
    }
    add_process(now, process);
    return exposition({&now});
}

}  // namespace tessera

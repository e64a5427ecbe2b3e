#include "app/agent/metrics.hpp"

#include "app/metrics/families.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

struct ResultRow {
    const char* result;
    Event event;
};
constexpr auto kResults = std::to_array<ResultRow>({
    {"completed", Event::cards_handed_over},
    {"refused", Event::container_refused},
    {"unshared", Event::container_unshared},
});

double in_seconds(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9;
}

}  // namespace

std::string agent_exposition(const NodeInventory& node, const CardReadings& readings,
                             const ShareFacts& shares, const ProcessFacts& process) {
    prom::Registry now;
#define METRIC(kind, name, exposed, help) auto& name = kind(now, exposed, help);
#include "app/agent/metrics.def"
#undef METRIC
    const auto labels_of = [&](const auto& card) {
        return prom::Labels{{"node", node.name.str()},
                            {"gpu", std::to_string(card.index)},
                            {"uuid", card.uuid.str()}};
    };
    for (const Gpu& gpu : node.gpus) {
        card_memory.Add(labels_of(gpu)).Set(static_cast<double>(gpu.memory.count));
        card_healthy.Add(labels_of(gpu)).Set(gpu.condition == GpuCondition::unhealthy ? 0 : 1);
    }
    for (const GpuReading& card : readings.cards) {
        // What a card that does not answer has in use, nobody knows.
        if (!card.lost.empty() || readings.is_released) continue;
        card_used.Add(labels_of(card)).Set(static_cast<double>(card.used.count));
    }
    // The agent does not ask a driver that it has released, so its age says nothing.
    if (!readings.is_released)
        driver_age.Add({}).Set(std::chrono::duration<double>(readings.age).count());
    for (const ShareUse& use : shares.uses) {
        const prom::Labels labels = {
            {"pod_uid", use.pod.str()}, {"container", use.container}, {"uuid", use.card.str()}};
        const auto add_times = [&](auto& family, const CardTime& time) {
            prom::Labels of_kind = labels;
            of_kind["kind"] = "kernels";
            family.Add(of_kind).Increment(in_seconds(time.kernels_ns));
            of_kind["kind"] = "copies";
            family.Add(of_kind).Increment(in_seconds(time.copies_ns));
        };
        share_held.Add(labels).Set(static_cast<double>(use.held.count));
        share_limit.Add(labels).Set(static_cast<double>(use.limit.count));
        share_refusals.Add(labels).Increment(static_cast<double>(use.refusals));
        share_waited.Add(labels).Increment(in_seconds(use.waited_ns));
        add_times(share_busy, use.in_flight);
        add_times(share_time, use.had);
    }
    for (const Unaccounted& evader : shares.evaders) {
        unaccounted.Add({{"pod_uid", evader.pod.str()}, {"uuid", evader.card.str()}})
            .Set(static_cast<double>((evader.used - evader.held).count));
    }
    for (const Unclaimed& card : shares.unclaimed) {
        unclaimed.Add({{"uuid", card.card.str()}})
            .Set(static_cast<double>((card.used - card.claimed).count));
    }
    for (const ResultRow& row : kResults) {
        containers.Add({{"result", row.result}})
            .Increment(static_cast<double>(event_count(row.event)));
    }
    add_process(now, process);
    return exposition({&now});
}

}  // namespace tessera

#include "simulator/replay/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

std::string figure(const CurvePoint& point, double CurvePoint::* member) {
    return point.tasks == 0 ? "-" : fmt::format("{:.2f}", point.*member);
}

}  // namespace

std::string run_table(std::span<const SimRun> runs) {
    std::size_t trace = 5;
    std::size_t policy = 10;
    for (const SimRun& run : runs) {
        trace = std::max(trace, run.name.trace.size());
        policy = std::max(policy, run.policy.size());
    }
    const bool has_gangs =
        std::ranges::any_of(runs, [](const SimRun& run) { return run.gangs > 0; });
    std::string text =
        fmt::format("{:<{}}  {:<{}}  {:>6}  {:>8}  {:>7}  {:>10}  {:>10}  {:>10}  {:>11}", "TRACE",
                    trace, "POLICY", policy, "SEED", "ARRIVALS", "DROPPED", "ALLOC@100%",
                    "ALLOC@130%", "FRAG@100%", "DECISIONS/S");
    text += has_gangs ? "  GANGS  GANGS DROPPED\n" : "\n";
    for (const SimRun& run : runs) {
        text += fmt::format(
            "{:<{}}  {:<{}}  {:>6}  {:>8}  {:>7}  {:>10}  {:>10}  {:>10}  {:>11.0f}",
            run.name.trace, trace, run.policy, policy, run.name.seed, run.arrivals, run.dropped,
            figure(run.curve[100], &CurvePoint::allocation),
            figure(run.curve[130], &CurvePoint::allocation),
            figure(run.curve[100], &CurvePoint::fragmentation), run.decisions_per_second());
        if (has_gangs) text += fmt::format("  {:>5}  {:>13}", run.gangs, run.gangs_dropped);
        text += "\n";
    }
    return text;
}

std::string run_csv(std::span<const SimRun> runs) {
    std::string text = "trace,policy,seed,percent,allocation,fragmentation,ratio\n";
    for (const SimRun& run : runs) {
        for (std::size_t percent = 0; percent < run.curve.size(); ++percent) {
            const CurvePoint& point = run.curve[percent];
            if (point.tasks == 0) continue;
            text += fmt::format("{},{},{},{},{:.4f},{:.4f},{:.4f}\n", run.name.trace, run.policy,
                                run.name.seed, percent, point.allocation, point.fragmentation,
                                point.ratio);
        }
    }
    return text;
}

std::string run_json(std::span<const SimRun> runs) {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array();
    for (const SimRun& run : runs) {
        Json curve = Json::array();
        for (std::size_t percent = 0; percent < run.curve.size(); ++percent) {
            const CurvePoint& point = run.curve[percent];
            if (point.tasks == 0) continue;
            curve.push_back({{"percent", percent},
                             {"allocation", point.allocation},
                             {"fragmentation", point.fragmentation},
                             {"ratio", point.ratio}});
        }
        rows.push_back({{"trace", run.name.trace},
                        {"policy", run.policy},
                        {"seed", run.name.seed},
                        {"nodes", run.nodes},
                        {"arrivals", run.arrivals},
                        {"dropped", run.dropped},
                        {"gangs", run.gangs},
                        {"gangsDropped", run.gangs_dropped},
                        {"decisionsPerSecond", run.decisions_per_second()},
                        {"curve", std::move(curve)}});
    }
    const Json all = {{"runs", std::move(rows)}};
    // A trace's name comes from the command line, in any encoding.
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera

#include "simulator/live/live_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/tab_writer.hpp"
#include "base/counted.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// A line of the table and of the CSV.
struct Line {
    std::string what;
    std::string policy;
    LiveState state;
};

std::vector<Line> lines_of(const LiveReport& report) {
    std::vector<Line> lines{{"now", "-", report.as_is}};
    for (const LiveRun& run : report.runs)
        lines.push_back({"waiting placed", run.policy, run.waiting_placed});
    for (const LiveRun& run : report.runs)
        lines.push_back({"all placed", run.policy, run.all_placed});
    return lines;
}

std::vector<int> gpus_of(const Placed& place) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
        if ((place.gpus & gpu_bit(gpu)) != 0) gpus.push_back(gpu);
    }
    return gpus;
}

std::string place_text(const LiveReport& report, const Placed& place) {
    if (place.node < 0) return "-";
    return fmt::format("{}:{}", report.node_names[static_cast<std::size_t>(place.node)],
                       fmt::join(gpus_of(place), ","));
}

Json json_of(const LiveState& state) {
    return {{"allocatedPercent", state.allocated},
            {"fragmentationPercent", state.fragmentation},
            {"freeGpus", state.free_gpus},
            {"placed", state.placed},
            {"withoutRoom", state.without_room}};
}

std::string waiting_table(const LiveReport& report) {
    std::string text = "WAITING POD";
    for (const LiveRun& run : report.runs)
        text += "\t" + run.policy;
    for (std::size_t pod = 0; pod < report.waiting.size(); ++pod) {
        text += "\n" + report.waiting[pod];
        for (const LiveRun& run : report.runs)
            text += "\t" + place_text(report, run.places[pod]);
    }
    return align_tabs(text + "\n");
}

}  // namespace

std::string live_table(const LiveReport& report) {
    std::string text = fmt::format("{}: {}, {}", report.taken,
                                   counted(static_cast<std::size_t>(report.nodes), "node"),
                                   counted(static_cast<std::size_t>(report.gpus), "GPU"));
    if (report.unhealthy > 0) text += fmt::format(" ({} out of order)", report.unhealthy);
    text += fmt::format("\n\n{:<14}  {:<20}  {:>6}  {:>6}  {:>10}  {:>6}  {:>12}\n", "", "POLICY",
                        "ALLOC%", "FRAG%", "FREE GPUS", "PLACED", "WITHOUT ROOM");
    for (const Line& line : lines_of(report)) {
        const LiveState& state = line.state;
        text += fmt::format("{:<14}  {:<20}  {:>6.2f}  {:>6.2f}  {:>10}  {:>6}  {:>12}\n",
                            line.what, line.policy, state.allocated, state.fragmentation,
                            state.free_gpus, state.placed, state.without_room);
    }
    if (!report.waiting.empty()) text += "\n" + waiting_table(report);
    if (report.pinned > 0) {
        text += fmt::format(
            "\nPods that the engine cannot model (a GPU share of an init container, more than {} "
            "GPUs) stay in place: {}\n",
            kMaxGpus, report.pinned);
    }
    if (report.choosing > 0) {
        text +=
            fmt::format("\nPods with a nodeSelector or node affinity, which is ignored here: {}\n",
                        report.choosing);
    }
    if (report.ruled > 0) {
        text +=
            fmt::format("\nPods with rules on GPUs (tessera.dev/gpu-...), which are obeyed: {}\n",
                        report.ruled);
    }
    if (report.left_out.pods() > 0)
        text += "\nOf the snapshot " + left_out_text(report.left_out) + "\n";
    if (!report.tells_rules) {
        text +=
            "\nThe snapshot is from a release that did not record rules on GPUs "
            "(tessera.dev/gpu-...): here pods have none\n";
    } else if (!report.tells_links) {
        text +=
            "\nThe snapshot is from a release that did not record links between GPUs: "
            "tessera.dev/gpu-topology is ignored here\n";
    }
    return text;
}

std::string live_csv(const LiveReport& report) {
    std::string text = "what,policy,allocated,fragmentation,free_gpus,placed,without_room\n";
    for (const Line& line : lines_of(report)) {
        const LiveState& state = line.state;
        text +=
            fmt::format("{},{},{:.4f},{:.4f},{},{},{}\n", line.what, line.policy, state.allocated,
                        state.fragmentation, state.free_gpus, state.placed, state.without_room);
    }
    return text;
}

std::string live_json(const LiveReport& report) {
    Json policies = Json::array();
    for (const LiveRun& run : report.runs) {
        Json waiting = Json::array();
        for (std::size_t pod = 0; pod < report.waiting.size(); ++pod) {
            Json one = {{"pod", report.waiting[pod]}};
            if (const Placed& place = run.places[pod]; place.node >= 0) {
                one["node"] = report.node_names[static_cast<std::size_t>(place.node)];
                one["gpus"] = gpus_of(place);
            }
            waiting.push_back(std::move(one));
        }
        policies.push_back({{"policy", run.policy},
                            {"waitingPlaced", json_of(run.waiting_placed)},
                            {"allPlaced", json_of(run.all_placed)},
                            {"waiting", std::move(waiting)}});
    }
    const Json all = {{"taken", report.taken},
                      {"nodes", report.nodes},
                      {"gpus", report.gpus},
                      {"gpusOutOfOrder", report.unhealthy},
                      {"podsPinned", report.pinned},
                      {"podsThatChooseNodes", report.choosing},
                      {"podsWithGpuRules", report.ruled},
                      {"tellsGpuRules", report.tells_rules},
                      {"tellsLinks", report.tells_links},
                      {"podsLeftOut", report.left_out.pods()},
                      {"asIs", json_of(report.as_is)},
                      {"policies", std::move(policies)}};
    return all.dump(2) + "\n";
}

}  // namespace tessera

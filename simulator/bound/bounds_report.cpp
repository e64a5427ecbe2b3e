#include "simulator/bound/bounds_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace tessera {
namespace {

// A line of the table and of the CSV; for a mean, the seed is "mean".
struct Line {
    std::string trace;
    std::string seed;
    int arrivals = 0;
    std::size_t tasks = 0;
    double asked = 0;
    double bound = 0;
    double gap = 0;
    std::optional<double> all_placed;
    std::string policy;
    std::optional<double> allocated;

    [[nodiscard]] std::optional<double> distance() const {
        return allocated ? std::optional(bound - *allocated) : std::nullopt;
    }
};

std::vector<Line> lines_of(std::span<const BoundRun> runs) {
    std::vector<Line> lines;
    for (const BoundRun& run : runs) {
        Line line{.trace = run.name.trace,
                  .seed = fmt::format("{}", run.name.seed),
                  .arrivals = run.arrivals,
                  .tasks = run.tasks,
                  .asked = run.asked,
                  .bound = run.bound,
                  .gap = run.gap,
                  .all_placed = run.all_placed};
        if (run.policies.empty()) lines.push_back(line);
        for (const PolicyAllocation& policy : run.policies) {
            line.policy = policy.policy;
            line.allocated = policy.percent;
            lines.push_back(line);
        }
    }
    return lines;
}

// One mean per trace, share of arrivals and policy, in the order of their first lines.
std::vector<Line> means_of(const std::vector<Line>& lines) {
    std::vector<Line> means;
    std::map<std::tuple<std::string, int, std::string>, std::vector<const Line*>> groups;
    for (const Line& line : lines) {
        auto& group = groups[{line.trace, line.arrivals, line.policy}];
        if (group.empty()) means.push_back(line);
        group.push_back(&line);
    }
    for (Line& mean : means) {
        const auto& group = groups[{mean.trace, mean.arrivals, mean.policy}];
        const auto average = [&](auto figure) {
            double sum = 0;
            for (const Line* line : group)
                sum += figure(*line);
            return sum / static_cast<double>(group.size());
        };
        mean.seed = "mean";
        mean.asked = average([](const Line& line) { return line.asked; });
        mean.bound = average([](const Line& line) { return line.bound; });
        if (mean.all_placed)
            mean.all_placed = average([](const Line& line) { return *line.all_placed; });
        if (mean.allocated)
            mean.allocated = average([](const Line& line) { return *line.allocated; });
    }
    return means;
}

std::string figure(std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
}

}  // namespace

std::string bound_table(std::span<const BoundRun> runs) {
    std::vector<Line> lines = lines_of(runs);
    const std::vector<Line> means = means_of(lines);
    if (means.size() < lines.size()) lines.insert(lines.end(), means.begin(), means.end());
    std::size_t trace = 5;
    std::size_t policy = 6;
    for (const Line& line : lines) {
        trace = std::max(trace, line.trace.size());
        policy = std::max(policy, line.policy.size());
    }
    const auto row = [&](const auto&... cells) {
        return fmt::format("{:<{}}  {:>4}  {:>6}  {:>6}  {:>10}  {:<{}}  {:>6}  {:>8}\n", cells...);
    };
    std::string text = row("TRACE", trace, "SEED", "ASKED", "BOUND", "ALL PLACED", "POLICY", policy,
                           "ALLOC", "DISTANCE");
    for (const Line& line : lines) {
        text += row(line.trace, trace, line.seed, figure(line.asked), figure(line.bound),
                    figure(line.all_placed), line.policy.empty() ? "-" : line.policy, policy,
                    figure(line.allocated), figure(line.distance()));
    }
    return text;
}

std::string bound_csv(std::span<const BoundRun> runs) {
    const auto cell = [](std::optional<double> value) {
        return value ? fmt::format("{:.4f}", *value) : std::string();
    };
    std::string text =
        "trace,seed,arrivals,tasks,asked,bound,gap,all_placed,policy,allocated,distance\n";
    for (const Line& line : lines_of(runs)) {
        text += fmt::format("{},{},{},{},{:.4f},{:.4f},{:.4f},{},{},{},{}\n", line.trace, line.seed,
                            line.arrivals, line.tasks, line.asked, line.bound, line.gap,
                            cell(line.all_placed), line.policy, cell(line.allocated),
                            cell(line.distance()));
    }
    return text;
}

std::string bound_json(std::span<const BoundRun> runs) {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array();
    for (const BoundRun& run : runs) {
        Json row = {{"trace", run.name.trace},
                    {"seed", run.name.seed},
                    {"arrivals", run.arrivals},
                    {"tasks", run.tasks},
                    {"asked", run.asked},
                    {"bound", run.bound},
                    {"gap", run.gap},
                    {"rounds", run.rounds},
                    {"configurations", run.configurations}};
        if (run.all_placed) row["allPlaced"] = *run.all_placed;
        Json policies = Json::array();
        for (const PolicyAllocation& policy : run.policies) {
            policies.push_back({{"policy", policy.policy},
                                {"allocated", policy.percent},
                                {"distance", run.bound - policy.percent}});
        }
        row["policies"] = std::move(policies);
        rows.push_back(std::move(row));
    }
    const Json all = {{"bounds", std::move(rows)}};
    // A trace's name comes from the command line, in any encoding.
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera

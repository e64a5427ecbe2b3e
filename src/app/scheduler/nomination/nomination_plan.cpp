#include "app/scheduler/nomination/nomination_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/nomination/open_nodes.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/scheduling/planned_snapshot.hpp"

namespace tessera {
namespace {

// Whether two pods fit on the same nodes.
bool fit_alike(const QueuedPod& a, const QueuedPod& b) {
    return a.request->containers == b.request->containers && a.request->host == b.request->host &&
           a.request->policy == b.request->policy && a.request->priority == b.request->priority &&
           a.scheduling->nodes == b.scheduling->nodes;
}

class Planner {
  public:
    Planner(std::shared_ptr<const Snapshot> snapshot, const PlanTools& tools)
        : tools_(tools), planned_(std::move(snapshot), tools.versions), nodes_(planned_.now()) {}

    // Nothing if there is no node for it.
    std::optional<NodeName> place(const QueuedPod& pod) {
        PodRequest request = *pod.request;
        request.created.clear();  // as a nominee it comes after all others of its priority
        const auto scorer =
            tools_.policies == nullptr ? nullptr : tools_.policies->scorer_of(request);
        const std::set<NodeName>* excluded = tools_.excluded(request.uid);
        const bool is_like_last = excluded == nullptr && last_ != nullptr && fit_alike(*last_, pod);
        if (is_like_last && !last_node_) return std::nullopt;
        // By best fit, the fullest node that fits stays so while a pod like the last one fits
        // there.
        std::optional<std::uint32_t> node;
        if (is_like_last && scorer == nullptr && nodes_.has_room(*last_node_, request) &&
            planned_.assign(*last_node_, request, nullptr)) {
            node = last_node_;
        } else {
            static const std::set<NodeName> none;
            const auto positions = nodes_.of(planned_.now(), request, pod.scheduling->nodes,
                                             excluded == nullptr ? none : *excluded);
            if (!positions.empty())
                node = best_node(planned_.now(), positions, request, scorer.get());
            if (node && !planned_.assign(*node, request, scorer.get())) node.reset();
        }
        if (excluded == nullptr) {
            last_ = &pod;
            last_node_ = node;
        }
        if (!node) return std::nullopt;
        nodes_.take(*node, request);
        return planned_.now().row(*node).node->inventory.name;
    }

  private:
    const PlanTools& tools_;
    PlannedSnapshot planned_;
    OpenNodes nodes_;
    const QueuedPod* last_ = nullptr;
    std::optional<std::uint32_t> last_node_;  // nothing: it fits nowhere
};

// The names, each as often as before, spread as evenly as possible.
std::vector<NodeName> spread(const std::vector<NodeName>& names) {
    std::map<NodeName, std::size_t> counts;
    for (const NodeName& name : names)
        ++counts[name];
    std::vector<std::pair<double, const NodeName*>> places;
    for (const auto& [name, count] : counts) {
        for (std::size_t i = 0; i < count; ++i)
            places.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(count), &name);
    }
    std::ranges::sort(places, [](const auto& a, const auto& b) {
        return std::pair(a.first, *a.second) < std::pair(b.first, *b.second);
    });
    std::vector<NodeName> out;
    out.reserve(places.size());
    for (const auto& [place, name] : places)
        out.push_back(*name);
    return out;
}

// Lets runs of pods that fit alike exchange their nodes.
void spread_runs(std::deque<PlannedPod>& pods, const PlanTools& tools) {
    for (auto begin = pods.begin(); begin != pods.end();) {
        const auto is_other = [&](const PlannedPod& pod) {
            return tools.excluded(pod.pod.request->uid) != nullptr ||
                   !fit_alike(begin->pod, pod.pod);
        };
        const auto end = std::find_if(std::next(begin), pods.end(), is_other);
        if (tools.excluded(begin->pod.request->uid) == nullptr) {
            std::vector<NodeName> names;
            for (auto at = begin; at != end; ++at)
                names.push_back(at->node);
            names = spread(names);
            for (std::size_t i = 0; i < names.size(); ++i)
                (begin + static_cast<std::ptrdiff_t>(i))->node = names[i];
        }
        begin = end;
    }
}

}  // namespace

NominationPlan plan_nominations(std::shared_ptr<const Snapshot> snapshot,
                                const std::vector<QueuedPod>& queue,
                                std::chrono::nanoseconds within, const PlanTools& tools) {
    NominationPlan plan;
    if (queue.empty()) return plan;
    const std::chrono::nanoseconds end = tools.clock.steady() + within;
    Planner planner(std::move(snapshot), tools);
    for (const QueuedPod& pod : queue) {
        if (auto node = planner.place(pod)) {
            plan.pods.push_back({pod, *std::move(node)});
        } else {
            plan.fit_none.push_back(pod.request->uid);
        }
        if (tools.clock.steady() >= end) break;
    }
    spread_runs(plan.pods, tools);
    return plan;
}

}  // namespace tessera

#include "simulator/common/engine_scorer.hpp"

#include "domain/placement/engine_terms.hpp"

namespace tessera {

std::optional<EngineScorer::Asked> EngineScorer::asked_of(const NodeInfo& node,
                                                          const NodeGpus& room,
                                                          const PodRequest& pod) const {
    if (room.states.empty()) return std::nullopt;
    const auto tasks = tasks_of(pod, room.unit, room.states.front().capacity);
    if (!tasks) return std::nullopt;
    Asked asked{tasks->front(),
                with_gpus(node.load, room.states, rules_of(pod.containers).uses_mps())};
    asked.task.models = models_;
    if (!can_take_but_memory(asked.load, asked.task)) return std::nullopt;
    return asked;
}

std::vector<std::int64_t> EngineScorer::score(const Snapshot& snapshot,
                                              std::span<const std::uint32_t> positions,
                                              const PodRequest& pod) const {
    std::vector<std::int64_t> out;
    out.reserve(positions.size());
    for (const std::uint32_t position : positions) {
        const NodeInfo& node = *snapshot.row(position).node;
        out.push_back(score_room(node, node.node_gpus(), pod));
    }
    return out;
}

std::int64_t EngineScorer::score_room(const NodeInfo& node, const NodeGpus& room,
                                      const PodRequest& pod) const {
    const auto asked = asked_of(node, room, pod);
    return asked ? index_.score_of(asked->load, asked->task) : kLast;
}

std::optional<Assignment> EngineScorer::choose(const NodeInfo& node, const NodeGpus& room,
                                               const PodRequest& pod) const {
    const auto asked = asked_of(node, room, pod);
    if (!asked) return std::nullopt;
    const GpuSet gpus = policy_.score(asked->load, asked->task, 0).gpus;
    Assignment assignment;
    for (int gpu = 0; gpu < asked->load.gpus; ++gpu) {
        if ((gpus & gpu_bit(gpu)) != 0) assignment.gpus.push_back(gpu);
    }
    return assignment;
}

std::vector<ScoreTerm> EngineScorer::terms(const NodeInfo& node, const NodeGpus& room,
                                           const PodRequest& pod) const {
    const auto asked = asked_of(node, room, pod);
    return asked ? policy_.terms(asked->load, asked->task) : std::vector<ScoreTerm>();
}

}  // namespace tessera

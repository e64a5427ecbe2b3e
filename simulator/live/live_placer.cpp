#include "simulator/live/live_placer.hpp"

#include <numeric>
#include <utility>

#include "domain/placement/gpu_choice.hpp"
#include "simulator/replay/trial.hpp"

namespace tessera {
namespace {

// Whether each task has the room that it needs on its own set of these GPUs; false if `gpus` is
// empty.
bool has_room(NodeLoad load, const std::vector<PlacementTask>& tasks,
              const std::vector<GpuSet>& gpus) {
    if (gpus.empty()) return false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!can_take(only(load, gpus[i]), tasks[i])) return false;
        load = load_after(load, tasks[i], gpus[i]);
    }
    return true;
}

// The GPUs with enough free thousandths, which is all that a replay knows about them.
GpuMask open_to(const NodeLoad& load, const PlacementTask& task) {
    GpuMask out = 0;
    for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(load.gpus); ++gpu) {
        if (load.milli.at(gpu) >= task.milli) out |= GpuMask{1} << gpu;
    }
    return out;
}

}  // namespace

LivePlacer::LivePlacer(const LiveCluster& cluster, const LiveScene& scene,
                       const PlacementPolicyRow& policy, const ReplaySeeds& seeds)
    : cluster_(cluster),
      engine_(scene.loads, 0, 0),
      gpus_(scene.gpus),
      policy_(policy.make({.mix = cluster.mix, .sampling_seed = seeds.sampling})),
      index_(engine_, *policy_),
      draws_(static_cast<std::uint64_t>(seeds.draws)),
      all_nodes_(engine_.size()) {
    std::iota(all_nodes_.begin(), all_nodes_.end(), std::size_t{0});
}

void LivePlacer::arrived(const LivePod& pod) {
    for (const PlacementTask& task : pod.learnt)
        index_.arrived(task);
}

bool LivePlacer::place(const LiveGroup& group) {
    for (const std::size_t pod : group.pods)
        arrived(cluster_.pods[pod]);
    if (static_cast<int>(group.pods.size()) < group.size) return false;
    Trial trial(engine_);
    SimulatedGpusTrial trial_gpus(gpus_);
    std::map<std::size_t, LivePlace> found;
    for (const std::size_t at : group.pods) {
        const LivePod& pod = cluster_.pods[at];
        const auto choice = choose(pod);
        if (!choice) return false;
        LivePlace& place = found[at];
        place.placed.node = static_cast<std::int32_t>(choice->node);
        for (std::size_t i = 0; i < choice->tasks.size(); ++i) {
            trial.place(choice->node, choice->tasks[i], choice->gpus[i]);
            place.placed.gpus = static_cast<GpuSet>(place.placed.gpus | choice->gpus[i]);
            place.milli += milli_of(choice->tasks[i]);
        }
        trial_gpus.add(choice->node,
                       gpus_.assigned_pod_on(choice->node, pod.request, choice->gpus));
    }
    trial.keep();
    trial_gpus.keep();
    places_.merge(found);
    return true;
}

std::optional<LivePlacer::Choice> LivePlacer::choose(const LivePod& pod) {
    const std::uint64_t random = draws_();
    std::optional<Choice> best = choose_by_gpus(pod, random);
    if (pod.needs_gpus_looked_at) return best;
    for (const LiveVariant& variant : pod.variants) {
        if (variant.tasks.size() == 1)
            take_better(best, choose_by_index(pod, variant.tasks.front(), random), random);
    }
    return best;
}

std::optional<LivePlacer::Choice> LivePlacer::choose_by_index(const LivePod& pod,
                                                              const PlacementTask& task,
                                                              std::uint64_t random) {
    const auto decision = index_.choose(task, random);
    if (!decision) return std::nullopt;
    GpuSet gpus = decision->score.gpus;
    if (!gpus_.node_gpus(decision->node).topology_groups.empty()) {
        const GpuRequest& gpu = pod.request.containers.front().gpu;
        gpus = *gpus_of(decision->node, engine_.load(decision->node), task, gpu, random);
    }
    return Choice{decision->node, decision->score.score, {task}, {gpus}};
}

// Checks the nodes that have different GPUs for the pod; for the few pods with several GPU
// containers, all nodes.
std::optional<LivePlacer::Choice> LivePlacer::choose_by_gpus(const LivePod& pod,
                                                             std::uint64_t random) {
    const bool is_any_node = pod.needs_gpus_looked_at || pod.request.containers.size() > 1;
    const std::span<const std::size_t> nodes =
        is_any_node ? all_nodes_ : cluster_.gpus_of_nodes.mixed_nodes();
    const GpuRules rules = gpus_.with_joins(pod.rules(), pod.request.uid);
    GpuConstraints gpu_constraints(rules);
    std::optional<Choice> best;
    for (const std::size_t node : nodes) {
        const GpuSet admitted = gpus_.allowed_gpus(gpu_constraints, node);
        for (std::size_t size = 0; size < pod.variants.size(); ++size) {
            const GpuSet of_size = cluster_.gpus_of_nodes.gpus_of_size(node, size);
            if (pod.variants[size].tasks.empty() || of_size == 0) continue;
            const auto gpus = static_cast<GpuSet>(pod.is_whole ? admitted : admitted & of_size);
            take_better(best, score(node, pod, pod.variants[size].tasks, gpus, random), random);
            if (pod.is_whole) break;
        }
    }
    return best;
}

// The part of the load from which the task takes its GPUs; nothing if no set of GPUs has room.
std::optional<NodeLoad> LivePlacer::near(std::size_t node, const NodeLoad& load,
                                         const PlacementTask& task, const GpuRequest& gpu) {
    const auto among = first_with_room(sets_, gpus_.node_gpus(node), gpu, open_to(load, task));
    if (!among) return std::nullopt;
    return only(load, static_cast<GpuSet>(*among));
}

std::optional<GpuSet> LivePlacer::gpus_of(std::size_t node, const NodeLoad& load,
                                          const PlacementTask& task, const GpuRequest& gpu,
                                          std::uint64_t random) {
    return tessera::choose_gpus(sets_,
                                {.node_gpus = gpus_.node_gpus(node),
                                 .load = load,
                                 .gpu = gpu,
                                 .task = task,
                                 .open = open_to(load, task)},
                                *policy_, random);
}

// Follows the controller. A pod of several containers fits where the Placer finds that it fits. Its
// score is the sum of what each container would score alone. A single container that needs a link
// is scored on the GPUs that it would get. The GPUs are those that the policy chooses or, if it
// finds none for some container, those of the Placer.
std::optional<LivePlacer::Choice> LivePlacer::score(std::size_t node, const LivePod& pod,
                                                    const std::vector<PlacementTask>& tasks,
                                                    GpuSet gpus, std::uint64_t random) {
    Choice choice{.node = node, .tasks = tasks};
    const NodeLoad load = only(engine_.load(node), gpus);
    for (PlacementTask& task : choice.tasks) {
        task.models = kAnyModel;  // the GPUs are of allowed models
        if (!can_take(load, task)) return std::nullopt;
        const bool is_near = tasks.size() == 1 && pod.insists_on_link();
        const auto from =
            is_near ? near(node, load, task, pod.request.containers.front().gpu) : load;
        if (!from) return std::nullopt;
        choice.score += policy_->score(*from, task, random_for_gpus(random)).score;
    }
    const auto assignment = tasks.size() > 1 ? placer_assignment(node, pod) : std::vector<GpuSet>();
    if (tasks.size() > 1 && assignment.empty()) return std::nullopt;
    if (choose_gpus(choice, load, pod, random)) return choice;
    if (!has_room(load, choice.tasks, assignment)) return std::nullopt;
    choice.gpus = assignment;
    return choice;
}

bool LivePlacer::choose_gpus(Choice& choice, NodeLoad load, const LivePod& pod,
                             std::uint64_t random) {
    for (std::size_t i = 0; i < choice.tasks.size(); ++i) {
        const PlacementTask& task = choice.tasks[i];
        const auto gpus = gpus_of(choice.node, load, task, pod.request.containers[i].gpu, random);
        if (!gpus) return false;
        choice.gpus.push_back(*gpus);
        load = load_after(load, task, choice.gpus.back());
    }
    return true;
}

// The GPUs of each container; empty if the Placer finds no room.
std::vector<GpuSet> LivePlacer::placer_assignment(std::size_t node, const LivePod& pod) const {
    ContainerRequests request = pod.request.containers;
    for (ContainerRequest& container : request)
        container.gpu.rules = gpus_.with_joins(container.gpu.rules, pod.request.uid);
    NodeGpus node_gpus = gpus_.node_gpus(node);
    const std::vector<Bytes> free = free_of(node_gpus.states);
    node_gpus.free = free;
    Placer placer(request);
    const Assignment* assignment = placer.try_node(node_gpus);
    if (assignment == nullptr) return {};
    std::vector<GpuSet> out;
    auto gpu = assignment->gpus.begin();
    for (const ContainerRequest& container : request) {
        GpuSet of_container = 0;
        for (int i = 0; i < container.gpu.gpus; ++i)
            of_container = static_cast<GpuSet>(of_container | gpu_bit(*gpu++));
        out.push_back(of_container);
    }
    return out;
}

// A tie goes to the first in order or to a random one, as the policy says.
void LivePlacer::take_better(std::optional<Choice>& best, std::optional<Choice> other,
                             std::uint64_t random) const {
    if (!other) return;
    const auto comes_first = [&](std::size_t node, std::size_t before) {
        if (policy_->tie() == Tie::first_in_order) return node < before;
        const auto tie_break = [&](std::size_t of) { return (random ^ of) * 0xD6E8FEB86659FD93U; };
        return tie_break(node) > tie_break(before);
    };
    const bool is_better = !best || other->score > best->score ||
                           (other->score == best->score && comes_first(other->node, best->node));
    if (is_better) best = std::move(other);
}

}  // namespace tessera

#include "simulator/churn/running_cluster.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "domain/cluster/topology_groups.hpp"
#include "simulator/common/engine_scorer.hpp"

namespace tessera {
namespace {

constexpr Bytes kGpu = mebibytes(kMilliPerGpu);

// A fraction of the effort of `tessera defrag`, because plans are computed thousands of times here.
constexpr defrag::Effort kEffort{.steps = 3'000, .steps_per_length = 1'000, .prices = 300'000};

NodeName name_of(std::size_t node) {
    return NodeName(std::to_string(node));
}

std::size_t number_of(const std::string& text) {
    std::size_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    TESSERA_CHECK(read.ec == std::errc(), "a plan names only known tasks");
    return number;
}

Placed place_of(const NodeName& node, const std::vector<int>& gpus) {
    Placed place{.node = static_cast<std::int32_t>(number_of(node.str()))};
    for (const int gpu : gpus)
        place.gpus |= gpu_bit(gpu);
    return place;
}

MemoryRequest memory_of(const PlacementTask& task) {
    if (task.milli == kMilliPerGpu) return {};
    return {MemoryRequest::Kind::bytes, mebibytes(task.milli).count};
}

NodeInfo empty_node_info(std::size_t node, const NodeShape& shape) {
    NodeInfo info{.inventory = {.name = name_of(node),
                                .host = {shape.cpu_milli, mebibytes(shape.memory_mib)}}};
    for (int gpu = 0; gpu < shape.gpus; ++gpu) {
        info.inventory.gpus.push_back({.uuid = uuid_of_index(gpu), .index = gpu, .memory = kGpu});
    }
    info.gpus = empty_gpus(info.inventory.gpus);
    info.topology_groups = topology_groups_of(info.inventory.gpus);
    return info;
}

AssignedPodPtr assigned_pod_of(PodUid uid, const PlacementTask& task, GpuSet gpus) {
    AssignedPod assigned_pod{.uid = std::move(uid)};
    ContainerAllocation given;
    for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
        if ((gpus & gpu_bit(gpu)) == 0) continue;
        given.gpus.push_back({.uuid = uuid_of_index(gpu),
                              .index = gpu,
                              .memory = mebibytes(task.milli),
                              .whole = task.milli == kMilliPerGpu});
    }
    assigned_pod.allocation.containers.push_back(std::move(given));
    assigned_pod.allocated = allocated_by_gpu(assigned_pod.allocation.containers);
    return std::make_shared<const AssignedPod>(std::move(assigned_pod));
}

}  // namespace

RunningCluster::RunningCluster(std::span<const NodeShape> nodes, EngineIndex& index,
                               PlacementPolicy& policy)
    : index_(&index), policy_(&policy), engine_(nodes) {
    nodes_.reserve(nodes.size());
    for (const NodeShape& shape : nodes) {
        nodes_.push_back(
            {.tasks = {}, .empty = empty_node_info(nodes_.size(), shape), .movable = {}});
    }
}

void RunningCluster::placed(std::size_t number, const PlacementTask& task, const Placed& place,
                            bool movable) {
    const auto at = static_cast<std::size_t>(place.node);
    engine_.place(at, task, place.gpus);
    nodes_[at].info = nullptr;
    if (task.count > 0) nodes_[at].tasks.push_back({number, task, place.gpus, movable});
}

void RunningCluster::left(std::size_t number, const PlacementTask& task, const Placed& place) {
    const auto at = static_cast<std::size_t>(place.node);
    engine_.release(at, task, place.gpus);
    Node& node = nodes_[at];
    node.info = nullptr;
    if (task.count == 0) return;
    const auto running = std::ranges::find_if(node.tasks, [&](const RunningTask& of) {
        return of.number == number && of.gpus == place.gpus;
    });
    TESSERA_CHECK(running != node.tasks.end(), "only a placed task leaves");
    node.tasks.erase(running);
}

PodRequest RunningCluster::request_of(const PlacementTask& task, PodUid uid) const {
    PodRequest request{.uid = std::move(uid)};
    request.containers.push_back({.gpu = {.gpus = task.count, .memory = memory_of(task)}});
    request.host = {task.cpu_milli, mebibytes(task.memory_mib)};
    return request;
}

const RunningCluster::Admitted& RunningCluster::admitted(ModelSet models) {
    const auto [at, is_new] = admitted_.try_emplace(models);
    if (!is_new) return at->second;
    at->second.scorer = std::make_shared<const EngineScorer>(*index_, *policy_, models);
    auto barred = std::make_shared<std::set<NodeName>>();
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if ((models & model_bit(engine_.load(node).model)) == 0) barred->insert(name_of(node));
    }
    if (!barred->empty()) at->second.barred = std::move(barred);
    return at->second;
}

defrag::Barred RunningCluster::barred(const WaitingTasks& waiting) {
    const defrag::Barred& by_model = admitted(waiting.task.models).barred;
    if (waiting.without.empty()) return by_model;
    std::set<NodeName> all = by_model ? *by_model : std::set<NodeName>();
    for (const std::uint32_t node : waiting.without)
        all.insert(name_of(node));
    return std::make_shared<const std::set<NodeName>>(std::move(all));
}

void RunningCluster::look_at(std::size_t at) {
    Node& node = nodes_[at];
    NodeInfo info = node.empty;
    node.movable.clear();
    for (const RunningTask& running : node.tasks) {
        const std::string number = std::to_string(running.number);
        PodUid uid(running.movable ? number : "stays-" + number);
        info.assigned_pods.push_back(assigned_pod_of(uid, running.task, running.gpus));
        count_allocated(*info.assigned_pods.back(), info.inventory.gpus, info.gpus, 1);
        if (!running.movable) continue;
        const Admitted& of = admitted(running.task.models);
        node.movable.push_back({.request = request_of(running.task, std::move(uid)),
                                .barred = of.barred,
                                .scorer = of.scorer});
    }
    info.free = free_of(info.gpus);
    info.load = engine_.load(at);
    node.info = std::make_shared<const NodeInfo>(std::move(info));
}

const defrag::Cluster& RunningCluster::cluster() {
    cluster_.nodes.clear();
    cluster_.movable.clear();
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        Node& node = nodes_[at];
        if (node.info == nullptr) look_at(at);
        cluster_.nodes.push_back(node.info);
        cluster_.movable.insert(cluster_.movable.end(), node.movable.begin(), node.movable.end());
    }
    return cluster_;
}

std::optional<std::vector<TaskMove>> RunningCluster::plan(const WaitingTasks& waiting,
                                                          std::size_t most) {
    const defrag::Goal goal =
        defrag::RoomFor{request_of(waiting.task, PodUid("waiting")), barred(waiting)};
    const auto found = defrag::make_plan(cluster(), goal, kEffort);
    const auto* plan = std::get_if<defrag::Plan>(&found);
    if (plan == nullptr || plan->moves.size() > most) return std::nullopt;
    std::vector<TaskMove> moves;
    moves.reserve(plan->moves.size());
    for (const defrag::Move& move : plan->moves) {
        moves.push_back({number_of(move.uid.str()), place_of(move.node, move.gpus),
                         place_of(move.to, move.to_gpus)});
    }
    return moves;
}

void RunningCluster::make(const TaskMove& move) {
    const auto& tasks = nodes_[static_cast<std::size_t>(move.from.node)].tasks;
    const auto running = std::ranges::find_if(
        tasks, [&](const RunningTask& of) { return of.number == move.task && of.movable; });
    TESSERA_CHECK(running != tasks.end(), "a plan moves only running tasks");
    const PlacementTask task = running->task;
    placed(move.task, task, move.to, true);
    left(move.task, task, move.from);
}

std::optional<Placed> RunningCluster::best_place(const WaitingTasks& waiting) {
    std::optional<std::size_t> best;
    std::int32_t highest = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const bool is_barred = std::ranges::find(waiting.without, node) != waiting.without.end();
        if (is_barred || !can_take(engine_.load(node), waiting.task)) continue;
        const std::int32_t score = index_->score_of(engine_.load(node), waiting.task);
        if (best && score <= highest) continue;
        best = node;
        highest = score;
    }
    if (!best) return std::nullopt;
    return Placed{static_cast<std::int32_t>(*best),
                  policy_->score(engine_.load(*best), waiting.task, 0).gpus};
}

std::optional<std::vector<std::vector<TaskMove>>> RunningCluster::moves_for(
    const WaitingTasks& waiting, std::size_t most) {
    if (policy_->tie() == Tie::any) return std::nullopt;
    std::vector<std::vector<TaskMove>> all;
    auto first = plan(waiting, most);
    if (!first) return std::nullopt;
    all.push_back(*std::move(first));
    if (waiting.count == 1) return all;
    RunningCluster tried = *this;
    while (std::ssize(all) < waiting.count) {
        for (const TaskMove& move : all.back())
            tried.make(move);
        const auto place = tried.best_place(waiting);
        if (!place) return std::nullopt;
        constexpr std::size_t kNobody = 0;  // stays until the copy is destroyed
        tried.placed(kNobody, waiting.task, *place, false);
        auto next = tried.plan(waiting, most);
        if (!next) return std::nullopt;
        all.push_back(*std::move(next));
    }
    return all;
}

}  // namespace tessera

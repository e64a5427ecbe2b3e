#include "app/scheduler/scoring/score_cache.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "base/mutex.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/gpu_choice.hpp"
#include "domain/placement/gpu_constraints.hpp"
#include "domain/placement/gpu_room.hpp"
#include "domain/placement/gpu_sets.hpp"

namespace tessera {
namespace {

constexpr std::int32_t kNotTaken = std::numeric_limits<std::int32_t>::min();
// The cache is bounded, because the process runs for months: some 200 MB if all kinds are full.
constexpr std::size_t kMostColumns = 256;
constexpr std::size_t kMostStates = std::size_t{1} << 13;
// A kind that no pod has requested is passed on to this many successors only.
constexpr int kHandedOn = 2;

// The same for the same pod in every replica, unlike std::hash.
std::uint64_t tie_break_of(const PodUid& uid) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : uid.str())
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash * 0x9E3779B97F4A7C15U;
}

// Breaks ties at random, by the pod's hash.
std::int64_t with_tie_break(std::int64_t score, std::uint64_t tie_break, std::uint32_t position) {
    constexpr int kLotBits = 20;
    const std::uint64_t mixed = (tie_break ^ position) * 0xD6E8FEB86659FD93U;
    return score * (std::int64_t{1} << kLotBits) +
           static_cast<std::int64_t>(mixed >> (64 - kLotBits));
}

// kube-scheduler has checked the host memory, and no score depends on it.
void leave_out_memory(PlacementTask& task) {
    task.memory_mib = 0;
}

// The part of each node that a pod's rules allow. Reused for all nodes.
class Left {
  public:
    explicit Left(const ContainerRequests& request)
        : request_(request), rules_(rules_of(request)), gpu_constraints_(rules_) {}

    [[nodiscard]] bool is_all() const { return rules_.admits_any() && !insists(); }
    // Sets the GPUs that the rules do not allow to zero.
    void leave_out(NodeLoad& load, const NodeGpus& node_gpus) {
        gpu_constraints_.look_at(node_gpus);
        const GpuMask linked = insists() ? linked_gpus(node_gpus) : kAnyGpus;
        const std::size_t gpus = std::min(node_gpus.states.size(), load.milli.size());
        for (std::size_t i = 0; i < gpus; ++i) {
            if (!gpu_constraints_.admits(i) || !is_among(linked, i)) load.milli.at(i) = 0;
        }
    }

  private:
    // With several containers each has its own GPUs, and no set of GPUs belongs to the pod.
    [[nodiscard]] bool insists() const {
        return rules_.link && request_.size() == 1 && request_.front().gpu.gpus > 1;
    }
    // The linked set from which the pod would take its GPUs.
    GpuMask linked_gpus(const NodeGpus& node_gpus) {
        const GpuRequest& gpu = request_.front().gpu;
        GpuMask open = 0;
        for (std::size_t i = 0; i < node_gpus.states.size() && i < kMaxGpus; ++i) {
            if (gpu_constraints_.admits(i) && has_room(node_gpus, i, gpu)) open |= GpuMask{1} << i;
        }
        return first_with_room(sets_, node_gpus, gpu, open).value_or(kAnyGpus);
    }

    const ContainerRequests& request_;
    const GpuRules& rules_;
    GpuConstraints gpu_constraints_;
    GpuSets sets_;
};

// What `room` offers of the node to the pod.
NodeLoad load_for(const PodRequest& pod, const NodeInfo& node, const NodeGpus& room) {
    NodeLoad load = with_gpus(node.load, room.states, rules_of(pod.containers).uses_mps());
    Left(pod.containers).leave_out(load, room);
    return load;
}

std::optional<std::vector<PlacementTask>> tasks_on(const NodeGpus& room, const PodRequest& pod) {
    Bytes largest;
    for (const GpuState& gpu : room.states)
        largest = std::max(largest, gpu.capacity);
    return tasks_of(pod, room.unit, largest);
}

}  // namespace

// The pod's containers on GPUs of one capacity.
struct ScoreCache::Scored {
    MemoryUnit unit;
    Bytes gpu;
    std::vector<std::pair<PlacementTask, Column*>>
        tasks;  // empty: the engine has no terms for the pod
};

ScoreCache::ScoreCache(std::unique_ptr<PlacementPolicy> policy) : policy_(std::move(policy)) {}

ScoreCache::Column& ScoreCache::column_of(const PlacementTask& task,
                                          const Snapshot& snapshot) const {
    const auto known = columns_.find(task);
    Column& column = known != columns_.end() ? known->second : add_column(task);
    column.asked = requests_;
    lay_out(column, snapshot);
    return column;
}

// If there are too many columns, the new one replaces those whose last request is the oldest.
// Columns of the current request stay, however many they are, because the request points to them.
ScoreCache::Column& ScoreCache::add_column(const PlacementTask& task) const {
    while (columns_.size() >= kMostColumns) {
        const auto oldest = std::ranges::min_element(
            columns_, {}, [](const auto& known) { return known.second.asked; });
        if (oldest->second.asked == requests_) break;
        columns_.erase(oldest);
    }
    Column& added = columns_[task];
    added.number = ++numbers_;
    return added;
}

void ScoreCache::lay_out(Column& column, const Snapshot& snapshot) {
    if (column.index == snapshot.index()) return;
    column.index = snapshot.index();
    column.by_position.assign(snapshot.places(), {});
    column.caught_up = 0;
}

// Not analysed: clang 19 loses a lock that is adopted and returned. Its callers are analysed.
MutexLock ScoreCache::lock() const TESSERA_NO_THREAD_SAFETY_ANALYSIS {
    ++waiting_;
    mutex_.lock();
    --waiting_;
    waiting_.notify_all();
    return {mutex_, std::adopt_lock};
}

bool ScoreCache::give_way() const {
    if (waiting_ == 0) return false;
    mutex_.unlock();
    for (int others = waiting_; others > 0; others = waiting_)
        waiting_.wait(others);
    mutex_.lock();
    return true;
}

std::optional<std::int32_t> ScoreCache::score(Column& column, const PlacementTask& task,
                                              const PlacementRow& row, std::uint32_t position,
                                              Effort effort) const {
    Seen& seen = column.by_position[position];
    if (seen.version == row.version) return seen.score;
    const auto found = score(column, task, row.node->load, effort);
    if (found) {
        // The state of a plan is not remembered: it is in no snapshot of the state's owner.
        if (row.version < kFirstPlannedVersion) seen = {row.version, *found};
        return found;
    }
    if (effort == Effort::as_before && seen.version != 0) return seen.score;
    return std::nullopt;
}

std::optional<std::int32_t> ScoreCache::score(Column& column, const PlacementTask& task,
                                              const NodeLoad& load, Effort effort) const {
    const NodeState state = state_of(load, policy_->sees_kinds());
    if (const std::int32_t* known = column.by_state.find(state)) return *known;
    if (!can_take_but_memory(load, task)) return kNotTaken;
    if (effort != Effort::full) return std::nullopt;
    if (column.by_state.size() > kMostStates) column.by_state.clear();
    return column.by_state.at(state, policy_->score(load, task, 0).score);
}

// One request. Requires the mutex to be held.
class ScoreCache::Asking {
  public:
    Asking(const ScoreCache& of, const Snapshot& snapshot, std::span<const std::uint32_t> positions,
           const PodRequest& pod)
        : of_(of),
          snapshot_(snapshot),
          positions_(positions),
          pod_(pod),
          tie_break_(tie_break_of(pod.uid)),
          has_random_tie_break_(of.has_random_tie_break()),
          left_(pod.containers),
          scores_(positions.size(), kLast) {}

    std::vector<std::int64_t> score_all() {
        std::vector<std::size_t> unknown;
        const Effort effort = of_.policy_->is_slow() ? Effort::known : Effort::full;
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            if (!score_seen(i) && !score(i, effort)) unknown.push_back(i);
        }
        if (!unknown.empty()) score_some_of(unknown);
        return std::move(scores_);
    }

  private:
    // Not analysed: ScoreCache::score() has locked of_.mutex_, which it knows as its own mutex_.
    const Scored& scored_of(const PlacementRow& row) TESSERA_NO_THREAD_SAFETY_ANALYSIS {
        const auto is_of = [&](const Scored& scored) {
            return scored.unit == row.unit && scored.gpu == row.largest;
        };
        if (latest_ != nullptr && is_of(*latest_)) return *latest_;
        const auto known = std::ranges::find_if(by_gpu_, is_of);
        if (known != by_gpu_.end()) return *(latest_ = &*known);
        Scored scored{row.unit, row.largest, {}};
        if (auto tasks = tasks_of(pod_, row.unit, row.largest)) {
            for (PlacementTask& task : *tasks) {
                leave_out_memory(task);
                scored.tasks.emplace_back(task, &of_.column_of(task, snapshot_));
            }
        }
        by_gpu_.push_back(std::move(scored));
        return *(latest_ = &by_gpu_.back());
    }

    // The part of a node that the pod's rules allow; nothing if they allow all of it.
    std::optional<NodeLoad> admitted_of(const PlacementRow& row) {
        if (is_all_) return std::nullopt;
        NodeLoad admitted = row.node->load;
        if (uses_mps_) admitted = with_gpus(admitted, row.node->gpus, uses_mps_);
        left_.leave_out(admitted, row.node->node_gpus());
        if (admitted == row.node->load) return std::nullopt;
        return admitted;
    }

    // False if the score needs more effort than allowed.
    bool score(std::size_t i, Effort effort) {
        const PlacementRow& row = snapshot_.row(positions_[i]);
        const auto admitted = admitted_of(row);
        const Scored& scored = scored_of(row);
        std::int64_t sum = 0;
        bool is_scored = !scored.tasks.empty();
        bool is_known = true;
        for (const auto& [task, column] : scored.tasks) {
            const auto one = admitted ? of_.score(*column, task, *admitted, effort)
                                      : of_.score(*column, task, row, positions_[i], effort);
            const bool is_left = !one && admitted && effort == Effort::as_before;
            if (is_left && column->left.size() < kMostStates) column->left.push_back(*admitted);
            is_known = is_known && one;
            is_scored = is_scored && one.value_or(kNotTaken) != kNotTaken;
            sum += one.value_or(0);
        }
        if (!is_known) return false;
        scores_[i] = is_scored ? score_of(sum, i) : kLast;
        return true;
    }

    // A fast path for the most frequent case: a pod of one container, without rules.
    bool score_seen(std::size_t i) {
        const PlacementRow& row = snapshot_.row(positions_[i]);
        const Scored& scored = scored_of(row);
        if (!is_all_ || scored.tasks.size() != 1) return false;
        const Seen& seen = scored.tasks.front().second->by_position[positions_[i]];
        if (seen.version != row.version) return false;
        if (seen.score != kNotTaken) scores_[i] = score_of(seen.score, i);
        return true;
    }

    void score_some_of(std::vector<std::size_t>& unknown) {
        const std::size_t fullest = std::min(unknown.size(), kFullestAnew);
        std::ranges::nth_element(unknown, unknown.begin() + static_cast<std::ptrdiff_t>(fullest),
                                 {}, [&](std::size_t i) {
                                     return std::pair(
                                         snapshot_.row(positions_[i]).node->load.free_milli(), i);
                                 });
        std::vector<char> is_old(positions_.size());
        for (std::size_t n = 0; n < unknown.size(); ++n) {
            const bool is_among_fullest = n < fullest;
            const bool is_known =
                score(unknown[n], is_among_fullest ? Effort::full : Effort::as_before);
            is_old[unknown[n]] = is_known && !is_among_fullest ? 1 : 0;
        }
        // The node that took the last pod would win again by its old score.
        for (std::size_t tried = 0; tried < kBestAnew; ++tried) {
            const auto best =
                static_cast<std::size_t>(std::ranges::max_element(scores_) - scores_.begin());
            if (is_old[best] == 0) return;
            is_old[best] = 0;
            score(best, Effort::full);
        }
    }

    [[nodiscard]] std::int64_t score_of(std::int64_t score, std::size_t i) const {
        return has_random_tie_break_ ? with_tie_break(score, tie_break_, positions_[i]) : score;
    }

    const ScoreCache& of_;
    const Snapshot& snapshot_;
    std::span<const std::uint32_t> positions_;
    const PodRequest& pod_;
    std::uint64_t tie_break_;
    bool has_random_tie_break_;
    Left left_;
    bool is_all_ = left_.is_all();
    bool uses_mps_ = rules_of(pod_.containers).uses_mps();
    std::vector<std::int64_t> scores_;
    std::deque<Scored> by_gpu_;
    const Scored* latest_ = nullptr;  // most nodes have GPUs like those of the one before
};

std::vector<std::int64_t> ScoreCache::score(const Snapshot& snapshot,
                                            std::span<const std::uint32_t> positions,
                                            const PodRequest& pod) const {
    const auto locked = lock();
    ++requests_;
    return Asking(*this, snapshot, positions, pod).score_all();
}

std::int64_t ScoreCache::score_room(const NodeInfo& node, const NodeGpus& room,
                                    const PodRequest& pod) const {
    const auto tasks = tasks_on(room, pod);
    if (!tasks) return kLast;
    const NodeLoad load = load_for(pod, node, room);
    const auto locked = lock();
    ++requests_;
    std::int64_t sum = 0;
    for (PlacementTask task : *tasks) {
        leave_out_memory(task);
        const auto known = columns_.find(task);
        Column& column = known != columns_.end() ? known->second : add_column(task);
        column.asked = requests_;
        const std::int32_t one = score(column, task, load, Effort::full).value_or(kNotTaken);
        if (one == kNotTaken) return kLast;
        sum += one;
    }
    return sum;
}

bool ScoreCache::has_random_tie_break() const {
    return policy_->tie() == Tie::any;
}

// What is left of a node while a pod's containers take their GPUs.
struct ScoreCache::RemainingGpus {
    const NodeGpus& node_gpus;
    NodeLoad load;  // GPUs that the pod does not accept are full
    std::vector<Bytes> own = std::vector<Bytes>(node_gpus.states.size());
    std::vector<Percent> own_cores = std::vector<Percent>(node_gpus.states.size());

    // The GPUs with enough free space for a share of the container.
    [[nodiscard]] GpuMask open_to(const ContainerRequest& container) const {
        GpuMask out = 0;
        for (std::size_t i = 0; i < std::min(node_gpus.states.size(), load.milli.size()); ++i) {
            const GpuState& state = node_gpus.states[i];
            const Bytes peak =
                own[i] + bytes_of(container.gpu.memory, node_gpus.unit, state.capacity);
            const Percent cores = own_cores[i] + container.gpu.cores;
            if (load.milli.at(i) > 0 && has_room(state, container.gpu, peak, cores))
                out |= GpuMask{1} << i;
        }
        return out;
    }

    void take(const ContainerRequest& container, const PlacementTask& task, GpuSet gpus,
              Assignment& assignment) {
        for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
            if (!is_among(gpus, i)) continue;
            own[i] += bytes_of(container.gpu.memory, node_gpus.unit, node_gpus.states[i].capacity);
            own_cores[i] = own_cores[i] + container.gpu.cores;
            assignment.gpus.push_back(static_cast<int>(i));
        }
        load = load_after(load, task, gpus);
    }
};

std::optional<Assignment> ScoreCache::choose(const NodeInfo& node, const NodeGpus& node_gpus,
                                             const PodRequest& pod) const {
    const auto tasks = tasks_on(node_gpus, pod);
    if (!tasks) return std::nullopt;
    RemainingGpus room{.node_gpus = node_gpus, .load = load_for(pod, node, node_gpus)};
    Assignment assignment;
    GpuSets sets;
    const auto locked = lock();
    for (std::size_t i = 0; i < tasks->size(); ++i) {
        const ContainerRequest& container = pod.containers[i];
        PlacementTask task = (*tasks)[i];
        leave_out_memory(task);
        const auto gpus = choose_gpus(sets,
                                      {.node_gpus = node_gpus,
                                       .load = room.load,
                                       .gpu = container.gpu,
                                       .task = task,
                                       .open = room.open_to(container)},
                                      *policy_, tie_break_of(pod.uid));
        if (!gpus) return std::nullopt;
        room.take(container, task, *gpus, assignment);
    }
    return assignment;
}

std::vector<ScoreTerm> ScoreCache::terms(const NodeInfo& node, const NodeGpus& room,
                                         const PodRequest& pod) const {
    const auto tasks = tasks_on(room, pod);
    if (!tasks) return {};
    const NodeLoad load = load_for(pod, node, room);
    PlacementTask task = tasks->front();
    leave_out_memory(task);
    const auto locked = lock();
    if (!can_take_but_memory(load, task)) return {};
    return policy_->terms(load, task);
}

std::vector<PlacementTask> ScoreCache::kinds() const {
    const auto locked = lock();
    std::vector<PlacementTask> out;
    out.reserve(columns_.size());
    for (const auto& [task, column] : columns_)
        out.push_back(task);
    return out;
}

void ScoreCache::expect(std::span<const PlacementTask> kinds) {
    const auto locked = lock();
    for (const PlacementTask& kind : kinds) {
        if (columns_.size() >= kMostColumns) return;
        if (!columns_.contains(kind)) add_column(kind);
    }
}

void ScoreCache::expect_those_of(const ScoreCache& before) {
    std::vector<std::pair<PlacementTask, int>> of_late;
    {
        const auto locked = before.lock();
        for (const auto& [task, column] : before.columns_) {
            const int unasked_for = column.asked != 0 ? 0 : column.unasked_for + 1;
            if (unasked_for <= kHandedOn) of_late.emplace_back(task, unasked_for);
        }
    }
    const auto locked = lock();
    for (const auto& [task, unasked_for] : of_late) {
        if (columns_.size() >= kMostColumns) return;
        if (!columns_.contains(task)) add_column(task).unasked_for = unasked_for;
    }
}

bool ScoreCache::catch_up(const Snapshot& snapshot, std::size_t most) {
    if (!policy_->is_slow()) return true;
    Versions versions{.of = std::vector<std::uint64_t>(snapshot.places())};
    for (std::size_t position = 0; position < snapshot.places(); ++position) {
        const PlacementRow& row = snapshot.row(position);
        if (row.node == nullptr || !row.open) continue;
        versions.of[position] = row.version;
        versions.newest = std::max(versions.newest, row.version);
    }
    return std::ranges::all_of(kinds_to_catch_up(), [&](const PlacementTask& kind) {
        return catch_up(kind, snapshot, versions, most);
    });
}

// Each kind comes first in some call, because `most` may be enough for only one.
std::vector<PlacementTask> ScoreCache::kinds_to_catch_up() {
    const auto locked = lock();
    std::vector<PlacementTask> out;
    std::vector<PlacementTask> expected;
    for (const auto& [task, column] : columns_)
        (column.asked != 0 ? out : expected).push_back(task);
    const auto turn = turns_++;
    for (std::vector<PlacementTask>* part : {&out, &expected}) {
        if (part->empty()) continue;
        std::ranges::rotate(*part,
                            part->begin() + static_cast<std::ptrdiff_t>(turn % part->size()));
    }
    out.insert(out.end(), expected.begin(), expected.end());
    return out;
}

bool ScoreCache::catch_up(const PlacementTask& task, const Snapshot& snapshot,
                          const Versions& versions, std::size_t& most) {
    const MutexLock lock(mutex_);
    const auto found = columns_.find(task);
    if (found == columns_.end()) return true;
    Column* column = &found->second;
    const std::uint64_t number = column->number;
    lay_out(*column, snapshot);
    // A request meanwhile may have removed the column, or may use another snapshot.
    const auto is_as_it_was = [&]() TESSERA_REQUIRES(mutex_) {
        const auto again = columns_.find(task);
        return again != columns_.end() && again->second.number == number &&
               again->second.index == snapshot.index();
    };
    while (!column->left.empty()) {
        if (most == 0) return false;
        --most;
        const NodeLoad load = column->left.back();
        column->left.pop_back();
        score(*column, task, load, Effort::full);
        if (give_way() && !is_as_it_was()) return false;
    }
    if (column->caught_up >= versions.newest) return true;
    for (std::uint32_t position = 0; position < snapshot.places(); ++position) {
        if (column->by_position[position].version >= versions.of[position]) continue;
        if (most == 0) return false;
        --most;
        score(*column, task, snapshot.row(position), position, Effort::full);
        if (give_way() && !is_as_it_was()) return false;
    }
    column->caught_up = versions.newest;
    return true;
}

}  // namespace tessera

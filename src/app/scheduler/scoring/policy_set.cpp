#include "app/scheduler/scoring/policy_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "app/scheduler/scoring/learning_pace.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

// The policies get the mix again after kFirstMix tasks at first, then after half as many again each
// time. The step ends at kLastMix tasks, or at the number of nodes, as in expected_fill.hpp.
constexpr std::uint64_t kFirstMix = 5;
constexpr std::uint64_t kLastMix = 1'000;

// An amount of bytes is a different part of each size of GPU. It is learnt as a part of the most
// frequent GPU size, among GPUs that are large enough and of a model that the pod accepts.
class Sizes {
  public:
    explicit Sizes(const Snapshot& snapshot) {
        for (std::size_t position = 0; position < snapshot.places(); ++position) {
            const PlacementRow& row = snapshot.row(position);
            if (row.node == nullptr || row.gpus == 0) continue;
            Model& model = models_[row.node->load.model];
            model.name = row.node->inventory.gpus.front().model;
            model.gpus[{row.largest, row.unit}] += row.gpus;
        }
    }

    [[nodiscard]] std::vector<PlacementTask> tasks_of(const PodRequest& pod) const {
        const GpuRules& rules = rules_of(pod.containers);
        GpuCounts gpus;
        ModelSet admitted = 0;
        for (const auto& [number, model] : models_) {
            if (!admits_model(rules, model.name)) continue;
            admitted |= model_bit(number);
            for (const auto& [size, count] : model.gpus)
                gpus[size] += count;
        }
        std::vector<PlacementTask> best;
        std::uint64_t most = 0;
        for (const auto& [size, count] : gpus) {
            if (count <= most) continue;
            auto tasks = tessera::tasks_of(pod, size.second, size.first);
            if (!tasks) continue;
            best = *std::move(tasks);
            most = count;
        }
        const bool is_any = rules.models.empty() && rules.barred_models.empty();
        for (PlacementTask& task : best)
            task.models = is_any ? kAnyModel : admitted;
        return best;
    }

  private:
    using GpuCounts = std::map<std::pair<Bytes, MemoryUnit>, std::uint64_t>;
    struct Model {
        std::string name;
        GpuCounts gpus;
    };

    std::map<int, Model> models_;  // by model number
};

PlacementEngine engine_of(const Snapshot& snapshot, const Arrivals& arrivals) {
    std::vector<NodeLoad> loads;
    for (std::size_t position = 0; position < snapshot.places(); ++position) {
        const PlacementRow& row = snapshot.row(position);
        if (row.node != nullptr && row.open) loads.push_back(row.node->load);
    }
    return {std::move(loads), arrivals.allocated_milli, arrivals.released_milli};
}

}  // namespace

std::string policies_help() {
    std::string out = "placement policy:";
    std::string_view between = " ";
    for (const PlacementPolicyRow& policy : placement_policies()) {
        if (policy.is_simulated_only) continue;
        out += fmt::format("{}{} ({})", std::exchange(between, ", "), policy.name, policy.summary);
    }
    return out;
}

PolicySet::PolicySet(std::string_view standard) : standard_(standard) {
    for (const PlacementPolicyRow& row : placement_policies()) {
        if (row.is_simulated_only || row.name == kBestFitInBytes) continue;
        auto policy = row.make({});
        auto shown = std::make_shared<ScoreCache>(policy->copy());
        entries_.push_back({.row = &row, .learner = std::move(policy), .scores = std::move(shown)});
    }
}

std::shared_ptr<const NodeScorer> PolicySet::scorer_of(const PodRequest& pod) const {
    const std::string_view name = pod.policy.empty() ? standard_ : pod.policy;
    const MutexLock lock(mutex_);
    for (const Entry& entry : entries_) {
        if (entry.row->name == name) return entry.scores;
    }
    return nullptr;
}

// The kinds of tasks that arrive most often.
std::vector<PlacementTask> PolicySet::usual_kinds() const {
    constexpr std::size_t kMost = 128;
    auto mix = mix_.mix();
    std::ranges::sort(mix, std::ranges::greater(), &MixClass::share);
    mix.resize(std::min(mix.size(), kMost));
    std::vector<PlacementTask> out;
    out.reserve(mix.size());
    for (const MixClass& of : mix) {
        out.push_back({.cpu_milli = of.cpu_milli, .milli = of.milli, .count = of.count});
    }
    return out;
}

void PolicySet::make_next(Entry& entry) const {
    entry.is_changed = false;
    entry.next = std::make_shared<ScoreCache>(entry.learner->copy());
    entry.next->expect_those_of(*entry.scores);
    if (entry.row->name == standard_) entry.next->expect(usual_kinds());
}

void PolicySet::show_next(Entry& entry) {
    entry.retired = entry.scores;
    entry.next_snapshot.reset();
    entry.is_shown = true;
    const MutexLock lock(mutex_);
    entry.scores = std::exchange(entry.next, nullptr);
}

bool PolicySet::advance(Entry& entry, const std::shared_ptr<const Snapshot>& snapshot) {
    // A step of a slow policy takes some tens of milliseconds; then another policy may have work,
    // too.
    constexpr std::size_t kStep = 256;
    if (entry.retired.use_count() == 1) entry.retired.reset();  // no request uses it any more
    const bool is_done = entry.scores->catch_up(*snapshot, kStep);
    if (entry.is_changed && entry.next == nullptr) {
        make_next(entry);
        entry.next_snapshot = snapshot;
    } else if (entry.next != nullptr) {
        entry.next->expect_those_of(*entry.scores);  // kinds that were requested meanwhile
    }
    if (entry.next == nullptr) return is_done;
    if (!entry.next->catch_up(*entry.next_snapshot, kStep)) return false;
    show_next(entry);
    return false;  // the changes since that snapshot are still to be scored
}

void PolicySet::hear(Arrivals arrivals, const Snapshot& snapshot) {
    if (arrivals.pods.empty()) return;
    std::ranges::stable_sort(arrivals.pods, {}, &Arrival::created);
    const PlacementEngine engine = engine_of(snapshot, arrivals);
    const Sizes sizes(snapshot);
    for (const Arrival& arrival : arrivals.pods) {
        for (const PlacementTask& task : sizes.tasks_of(arrival.pod)) {
            mix_.add(task);
            ++learnt_;
            for (Entry& entry : entries_)
                entry.is_changed |= entry.learner->arrived(task, engine);
        }
    }
    if (learnt_ >= std::max(next_mix_, kFirstMix)) {
        const auto last = std::max<std::uint64_t>(kLastMix, snapshot.places());
        next_mix_ = learnt_ + std::min(learnt_ / 2, last);
        const auto mix = mix_.mix();
        for (Entry& entry : entries_) {
            if (entry.row->mix != PolicyMix::known) continue;
            entry.learner = entry.row->make({.mix = mix});
            entry.is_changed = true;
        }
    }
}

void PolicySet::learn(Arrivals arrivals, const Snapshot& snapshot) {
    hear(std::move(arrivals), snapshot);
    for (Entry& entry : entries_) {
        if (!entry.is_changed) continue;
        make_next(entry);
        show_next(entry);
    }
}

bool PolicySet::is_rebuilt() const {
    return std::ranges::all_of(entries_, [](const Entry& entry) {
        return entry.is_shown || (!entry.is_changed && entry.next == nullptr);
    });
}

void PolicySet::learn(ClusterCache& cache, Clock& clock, const std::atomic<bool>& synced,
                      const std::stop_token& stop) {
    LearningPace pace;
    using Left = LearningPace::Left;
    bool is_rebuilt = false;  // until then, arrivals are from before the start
    while (!stop.stop_requested()) {
        const auto began = clock.steady();
        bool is_done = true;
        if (synced) {
            auto arrivals = cache.call([](ClusterState& state) { return state.take_arrivals(); });
            const auto snapshot = cache.snapshot();
            hear(std::move(arrivals), *snapshot);
            for (Entry& entry : entries_)
                is_done &= advance(entry, snapshot);
            is_rebuilt = is_rebuilt || this->is_rebuilt();
        }
        const auto left = is_done      ? Left::nothing
                          : is_rebuilt ? Left::what_came_since
                                       : Left::what_was_there_at_start;
        const auto rest = pace.rest_after(clock.steady() - began, left);
        if (rest.count() > 0) clock.sleep_for(rest, stop);
    }
}

}  // namespace tessera

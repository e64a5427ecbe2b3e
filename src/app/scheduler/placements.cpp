#include "app/scheduler/placements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "domain/placement/engine_terms.hpp"
#include "domain/placement/fleet/fleet.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kLearnPeriod{1};
// The mix is told anew after so many tasks at first, half as many again each time, and so many at
// last: as expected_fill.hpp does it.
constexpr std::uint64_t kFirstMix = 5;
constexpr std::uint64_t kLastMix = 1'000;

// A share of bytes is another part of each size of card. It is learnt as a part of the card of
// which there are most, among those that are large enough and of a model that the pod admits.
class Sizes {
  public:
    explicit Sizes(const ClusterView& view) {
        for (std::size_t position = 0; position < view.places(); ++position) {
            const PlacementRow& row = view.row(position);
            if (row.node == nullptr || row.cards == 0) continue;
            Model& model = models_[row.node->load.model];
            model.name = row.node->inventory.gpus.front().model;
            model.cards[{row.largest, row.unit}] += row.cards;
        }
    }

    [[nodiscard]] std::vector<Task> tasks_of(const PodAsk& pod) const {
        const CardRules& rules = rules_of(pod.request);
        Cards cards;
        ModelSet admitted = 0;
        for (const auto& [number, model] : models_) {
            if (!admits_model(rules, model.name)) continue;
            admitted |= model_bit(number);
            for (const auto& [size, count] : model.cards)
                cards[size] += count;
        }
        std::vector<Task> best;
        std::uint64_t most = 0;
        for (const auto& [size, count] : cards) {
            if (count <= most) continue;
            auto tasks = tessera::tasks_of(pod, size.second, size.first);
            if (!tasks) continue;
            best = *std::move(tasks);
            most = count;
        }
        const bool is_any = rules.models.empty() && rules.barred_models.empty();
        for (Task& task : best)
            task.models = is_any ? kAnyModel : admitted;
        return best;
    }

  private:
    using Cards = std::map<std::pair<Bytes, MemoryUnit>, std::uint64_t>;
    struct Model {
        std::string name;
        Cards cards;
    };

    std::map<int, Model> models_;  // by number
};

Fleet fleet_of(const ClusterView& view, const Arrivals& arrivals) {
    std::vector<NodeLoad> loads;
    for (std::size_t position = 0; position < view.places(); ++position) {
        const PlacementRow& row = view.row(position);
        if (row.node != nullptr && row.open) loads.push_back(row.node->load);
    }
    return {std::move(loads), arrivals.placed_milli, arrivals.released_milli};
}

}  // namespace

std::string policies_help() {
    std::string out = "placement policy:";
    std::string_view between = " ";
    for (const FleetPolicyRow& policy : fleet_policies()) {
        if (policy.is_simulated_only) continue;
        out += fmt::format("{}{} ({})", std::exchange(between, ", "), policy.name, policy.summary);
    }
    return out;
}

Placements::Placements(std::string_view standard) : standard_(standard) {
    for (const FleetPolicyRow& row : fleet_policies()) {
        if (row.is_simulated_only || row.name == kBestFitInBytes) continue;
        auto policy = row.make({});
        auto shown = std::make_shared<Ratings>(policy->copy());
        entries_.push_back({&row, std::move(policy), std::move(shown), nullptr});
    }
}

std::shared_ptr<const NodeRater> Placements::rater_of(const PodAsk& pod) const {
    const std::string_view name = pod.policy.empty() ? standard_ : pod.policy;
    const std::scoped_lock lock(mutex_);
    for (const Entry& entry : entries_) {
        if (entry.row->name == name) return entry.ratings;
    }
    return nullptr;
}

// Those that come most often.
std::vector<Task> Placements::usual_kinds() const {
    constexpr std::size_t kMost = 128;
    auto mix = mix_.mix();
    std::ranges::sort(mix, std::ranges::greater(), &MixClass::share);
    mix.resize(std::min(mix.size(), kMost));
    std::vector<Task> out;
    out.reserve(mix.size());
    for (const MixClass& of : mix) {
        out.push_back({.cpu_milli = of.cpu_milli, .milli = of.milli, .count = of.count});
    }
    return out;
}

void Placements::publish(Entry& entry, const ClusterView& view) {
    auto next = std::make_shared<Ratings>(entry.learner->copy());
    auto kinds = entry.ratings->kinds();
    if (entry.row->name == standard_) std::ranges::copy(usual_kinds(), std::back_inserter(kinds));
    next->prepare(kinds, view);
    entry.retired.reset();
    {
        const std::scoped_lock lock(mutex_);
        entry.ratings.swap(next);
    }
    entry.retired = std::move(next);
}

void Placements::learn(Arrivals arrivals, const ClusterView& view) {
    if (arrivals.pods.empty()) return;
    std::ranges::stable_sort(arrivals.pods, {}, &Arrival::created);
    const Fleet fleet = fleet_of(view, arrivals);
    const Sizes sizes(view);
    std::vector<bool> is_changed(entries_.size());
    for (const Arrival& arrival : arrivals.pods) {
        for (const Task& task : sizes.tasks_of(arrival.pod)) {
            mix_.add(task);
            ++learnt_;
            for (std::size_t i = 0; i < entries_.size(); ++i) {
                if (entries_[i].learner->arrived(task, fleet)) is_changed[i] = true;
            }
        }
    }
    if (learnt_ >= std::max(next_mix_, kFirstMix)) {
        next_mix_ = learnt_ + std::min(learnt_ / 2, kLastMix);
        const auto mix = mix_.mix();
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i].row->mix != PolicyMix::told) continue;
            entries_[i].learner = entries_[i].row->make({.mix = mix});
            is_changed[i] = true;
        }
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (is_changed[i]) publish(entries_[i], view);
    }
}

void Placements::learn(Keeper& keeper, Clock& clock, const std::atomic<bool>& synced,
                       const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (synced) {
            auto arrivals = keeper.ask([](ClusterState& state) { return state.take_arrivals(); });
            learn(std::move(arrivals), *keeper.view());
        }
        clock.sleep_for(kLearnPeriod, stop);
    }
}

}  // namespace tessera

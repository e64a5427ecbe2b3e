#include "app/scheduler/placements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "app/scheduler/learning_pace.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/fleet/fleet.hpp"

namespace tessera {
namespace {

// The mix is told anew after so many tasks at first, half as many again each time, and so many at
// last, or as many as there are nodes: as expected_fill.hpp does it.
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
        entries_.push_back(
            {.row = &row, .learner = std::move(policy), .ratings = std::move(shown)});
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

void Placements::make_next(Entry& entry) const {
    entry.is_changed = false;
    entry.next = std::make_shared<Ratings>(entry.learner->copy());
    entry.next->expect_those_of(*entry.ratings);
    if (entry.row->name == standard_) entry.next->expect(usual_kinds());
}

void Placements::show_next(Entry& entry) {
    entry.retired = entry.ratings;
    entry.next_view.reset();
    entry.is_shown = true;
    const std::scoped_lock lock(mutex_);
    entry.ratings = std::exchange(entry.next, nullptr);
}

bool Placements::advance(Entry& entry, const std::shared_ptr<const ClusterView>& view) {
    // Of a slow policy some tens of milliseconds, for another may have something to do as well.
    constexpr std::size_t kStep = 256;
    if (entry.retired.use_count() == 1) entry.retired.reset();  // nobody asks it any more
    const bool is_done = entry.ratings->catch_up(*view, kStep);
    if (entry.is_changed && entry.next == nullptr) {
        make_next(entry);
        entry.next_view = view;
    } else if (entry.next != nullptr) {
        entry.next->expect_those_of(*entry.ratings);  // who came since
    }
    if (entry.next == nullptr) return is_done;
    if (!entry.next->catch_up(*entry.next_view, kStep)) return false;
    show_next(entry);
    return false;  // what has changed since that view is to be caught up with
}

void Placements::hear(Arrivals arrivals, const ClusterView& view) {
    if (arrivals.pods.empty()) return;
    std::ranges::stable_sort(arrivals.pods, {}, &Arrival::created);
    const Fleet fleet = fleet_of(view, arrivals);
    const Sizes sizes(view);
    for (const Arrival& arrival : arrivals.pods) {
        for (const Task& task : sizes.tasks_of(arrival.pod)) {
            mix_.add(task);
            ++learnt_;
            for (Entry& entry : entries_)
                entry.is_changed |= entry.learner->arrived(task, fleet);
        }
    }
    if (learnt_ >= std::max(next_mix_, kFirstMix)) {
        const auto last = std::max<std::uint64_t>(kLastMix, view.places());
        next_mix_ = learnt_ + std::min(learnt_ / 2, last);
        const auto mix = mix_.mix();
        for (Entry& entry : entries_) {
            if (entry.row->mix != PolicyMix::told) continue;
            entry.learner = entry.row->make({.mix = mix});
            entry.is_changed = true;
        }
    }
}

void Placements::learn(Arrivals arrivals, const ClusterView& view) {
    hear(std::move(arrivals), view);
    for (Entry& entry : entries_) {
        if (!entry.is_changed) continue;
        make_next(entry);
        show_next(entry);
    }
}

bool Placements::is_rebuilt() const {
    return std::ranges::all_of(entries_, [](const Entry& entry) {
        return entry.is_shown || (!entry.is_changed && entry.next == nullptr);
    });
}

void Placements::learn(Keeper& keeper, Clock& clock, const std::atomic<bool>& synced,
                       const std::stop_token& stop) {
    LearningPace pace;
    using Left = LearningPace::Left;
    bool is_rebuilt = false;  // until then arrivals are those of before
    while (!stop.stop_requested()) {
        const auto began = clock.steady();
        bool is_done = true;
        if (synced) {
            auto arrivals = keeper.ask([](ClusterState& state) { return state.take_arrivals(); });
            const auto view = keeper.view();
            hear(std::move(arrivals), *view);
            for (Entry& entry : entries_)
                is_done &= advance(entry, view);
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

#include "domain/placement/engine/index.hpp"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

constexpr std::int32_t kUnknown = std::numeric_limits<std::int32_t>::max();
// The cache is bounded, because the process runs for months. At the limit it is cleared.
constexpr std::size_t kMostStates = std::size_t{1} << 15;
constexpr std::size_t kMostKinds = 2048;

}  // namespace

EngineIndex::EngineIndex(const PlacementEngine& engine, PlacementPolicy& policy)
    : engine_(engine), policy_(policy), state_(engine.size()) {
    rescore();
}

void EngineIndex::rescore() {
    ++epoch_;
    numbers_.clear();
    scores_.clear();
    if (kinds_.size() > kMostKinds) kinds_.clear();
    for (auto& [task, kind] : kinds_)
        kind.scores = nullptr;
    for (std::size_t node = 0; node < engine_.size(); ++node)
        note_state(node);
    states_seen_ = engine_.version();
}

void EngineIndex::note_state(std::size_t node) {
    const NodeState state = state_of(engine_.load(node), policy_.sees_kinds());
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    state_[node] = numbers_.at(state, next);
}

bool EngineIndex::is_crowded() const {
    return numbers_.size() > kMostStates + engine_.size();
}

void EngineIndex::follow_states() {
    const auto changes = engine_.changes_since(states_seen_);
    if (!changes || is_crowded() || kinds_.size() > kMostKinds) return rescore();
    for (const std::uint32_t node : *changes)
        note_state(node);
    states_seen_ = engine_.version();
}

EngineIndex::Kind& EngineIndex::kind_of_task(const PlacementTask& task) {
    const auto known = kinds_.find(task);
    Kind& kind = known != kinds_.end()
                     ? known->second
                     : kinds_.try_emplace(task, Kind{task, nullptr, Tournament(engine_.size())})
                           .first->second;
    if (kind.scores == nullptr) {
        PlacementTask alike = task;
        alike.memory_mib = 0;
        kind.scores = &scores_[alike];
    }
    return kind;
}

std::int32_t EngineIndex::score(Kind& kind, std::size_t node) {
    const NodeLoad& load = engine_.load(node);
    if (load.memory_mib < kind.task.memory_mib) return Tournament::kNone;
    return score(*kind.scores, state_[node], load, kind.task);
}

std::int32_t EngineIndex::score(Scores& scores, std::uint32_t state, const NodeLoad& load,
                                const PlacementTask& task) {
    auto& by_state = scores.by_state;
    if (state >= by_state.size()) by_state.resize(state + 256, kUnknown);
    std::int32_t& score = by_state[state];
    if (score == kUnknown) {
        score = can_take_but_memory(load, task) ? policy_.score(load, task, 0).score
                                                : Tournament::kNone;
    }
    return score;
}

std::int32_t EngineIndex::score_of(const NodeLoad& load, const PlacementTask& task) {
    if (is_crowded()) rescore();
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    const std::uint32_t state = numbers_.at(state_of(load, policy_.sees_kinds()), next);
    PlacementTask alike = task;
    alike.memory_mib = 0;
    return score(scores_[alike], state, load, task);
}

void EngineIndex::follow(Kind& kind) {
    const auto changes = engine_.changes_since(kind.seen);
    if (kind.epoch == epoch_ && changes) {
        for (const std::uint32_t node : *changes)
            kind.nodes.set(node, score(kind, node));
    } else {
        for (std::size_t node = 0; node < engine_.size(); ++node)
            kind.nodes.set(node, score(kind, node));
    }
    kind.seen = engine_.version();
    kind.epoch = epoch_;
}

std::size_t EngineIndex::winner(const Kind& kind, std::uint64_t random) const {
    if (policy_.tie() == Tie::first_in_order) return kind.nodes.first_best();
    const auto leaves = kind.nodes.leaves();
    const std::int32_t best = kind.nodes.best();
    auto left = random % static_cast<std::uint64_t>(std::ranges::count(leaves, best));
    std::size_t node = 0;
    while (leaves[node] != best || left-- > 0)
        ++node;
    return node;
}

void EngineIndex::arrived(const PlacementTask& task) {
    if (policy_.arrived(task, engine_)) rescore();
}

std::optional<std::size_t> EngineIndex::winner_without(
    Kind& kind, std::uint64_t random, std::span<const std::uint32_t> without) const {
    std::vector<std::int32_t> scores;
    scores.reserve(without.size());
    for (const std::uint32_t node : without) {
        scores.push_back(kind.nodes.leaves()[node]);
        kind.nodes.set(node, Tournament::kNone);
    }
    std::optional<std::size_t> node;
    if (kind.nodes.best() != Tournament::kNone) node = winner(kind, random);
    for (std::size_t i = 0; i < without.size(); ++i)
        kind.nodes.set(without[i], scores[i]);
    return node;
}

std::optional<Decision> EngineIndex::choose(const PlacementTask& task, std::uint64_t random,
                                            std::span<const std::uint32_t> without) {
    follow_states();
    Kind& kind = kind_of_task(task);
    follow(kind);
    const auto node = winner_without(kind, random, without);
    if (!node) return std::nullopt;
    return Decision{*node, policy_.score(engine_.load(*node), kind.task, random_for_gpus(random))};
}

}  // namespace tessera

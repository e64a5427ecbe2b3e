// A policy of the placement engine as the controller asks it: by many threads, about thousands of
// nodes per request. What it said of a node is kept until that node changes, and of nodes that are
// alike it is asked once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/placement/card_sets.hpp"
#include "domain/placement/fleet/node_state.hpp"
#include "domain/placement/fleet/policy.hpp"
#include "domain/placement/node_rater.hpp"

namespace tessera {

// A pod's rating is the sum of its containers', each as though it came alone; its cards are chosen
// for one container after the other.
class Ratings final : public NodeRater {
  public:
    // The policy learns nothing here: what it says of a task and a state is the same always.
    explicit Ratings(std::unique_ptr<FleetPolicy> policy);

    [[nodiscard]] std::vector<std::int64_t> rate(const ClusterView& view,
                                                 std::span<const std::uint32_t> positions,
                                                 const PodAsk& pod) const override;
    [[nodiscard]] std::optional<Fit> choose(const NodeView& node, const Offer& room,
                                            const PodAsk& pod) const override;
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeView& node, const Offer& room,
                                               const PodAsk& pod) const override;

    // The kinds of tasks that it was asked for.
    [[nodiscard]] std::vector<Task> kinds() const;
    // Rates all nodes for these, so that nobody waits for it later.
    void prepare(std::span<const Task> kinds, const ClusterView& view);

  private:
    struct Seen {
        std::uint64_t version = 0;  // PlacementRow::version
        std::int32_t score = 0;
    };
    // Of one kind of task.
    struct Column {
        std::vector<Seen> by_position;
        StateMemo<std::int32_t> by_state;
    };
    struct Scored;
    struct Room;

    // The container's cards; nothing where the policy finds none.
    [[nodiscard]] std::optional<CardSet> choose_cards(CardSets& sets, const Room& room,
                                                      const ContainerRequest& container,
                                                      const Task& task, std::uint64_t draw) const;
    std::int32_t score(Column& column, const Task& task, const PlacementRow& row,
                       std::uint32_t position) const;
    std::int32_t score(Column& column, const Task& task, const NodeLoad& load) const;
    Column& column_of(const Task& task) const;

    mutable std::mutex mutex_;
    const std::unique_ptr<FleetPolicy> policy_;                   // guarded by mutex_
    mutable std::unordered_map<Task, Column, TaskHash> columns_;  // guarded by mutex_
};

}  // namespace tessera

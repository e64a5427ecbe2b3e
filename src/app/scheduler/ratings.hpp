// A policy of the placement engine as the controller asks it: by many threads, about thousands of
// nodes per request. What it said of a node is kept until that node changes, and of nodes that are
// alike it is asked once.
//
// A slow policy would keep a request waiting that asks for a kind of task for the first time, or
// after many nodes have changed. So a request has a few nodes rated anew, the fullest and those
// that would win by what they were, and takes the others for that, or for the last; catch_up()
// rates these behind it.
#pragma once

#include <atomic>
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
    static constexpr std::size_t kFullestAnew = 16;
    static constexpr std::size_t kBestAnew = 8;

    // The policy learns nothing here: what it says of a task and a state is the same always.
    explicit Ratings(std::unique_ptr<FleetPolicy> policy);

    [[nodiscard]] std::vector<std::int64_t> rate(const ClusterView& view,
                                                 std::span<const std::uint32_t> positions,
                                                 const PodAsk& pod) const override;
    [[nodiscard]] std::int64_t rate_room(const NodeView& node, const Offer& room,
                                         const PodAsk& pod) const override;
    [[nodiscard]] bool is_by_lot() const override;
    [[nodiscard]] std::optional<Fit> choose(const NodeView& node, const Offer& room,
                                            const PodAsk& pod) const override;
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeView& node, const Offer& room,
                                               const PodAsk& pod) const override;

    // The kinds of tasks that it was asked for, and those to expect.
    [[nodiscard]] std::vector<Task> kinds() const;
    void expect(std::span<const Task> kinds);
    // Those that were asked for of late: of `before`, or of those before it.
    void expect_those_of(const Ratings& before);
    // Rates the nodes of the view for all kinds, where that is not done yet, but gives way to who
    // asks; false where `most` ratings were not enough. Kinds that somebody has asked for come
    // before those that are expected.
    bool catch_up(const ClusterView& view, std::size_t most);

  private:
    struct Seen {
        std::uint64_t version = 0;  // PlacementRow::version
        std::int32_t score = 0;
    };
    // How a score may be come by.
    enum class Effort { known, as_before, anew };
    // Of one kind of task.
    struct Column {
        std::uint64_t number = 0;                // no other's
        std::uint64_t asked = 0;                 // the last request that did; 0: none
        int unasked_for = 0;                     // so many Ratings before this
        std::shared_ptr<const NameIndex> index;  // of by_position
        std::vector<Seen> by_position;
        StateMemo<std::int32_t> by_state;
        // What rules leave of nodes, and is not rated yet.
        std::vector<NodeLoad> left;
        std::uint64_t caught_up = 0;  // with all versions up to it
    };
    // PlacementRow::version of the open nodes, by position.
    struct Versions {
        std::vector<std::uint64_t> of;
        std::uint64_t newest = 0;
    };
    struct Scored;
    class Asking;
    struct Room;

    // Nothing where the effort does not get at it.
    std::optional<std::int32_t> score(Column& column, const Task& task, const PlacementRow& row,
                                      std::uint32_t position, Effort effort) const;
    std::optional<std::int32_t> score(Column& column, const Task& task, const NodeLoad& load,
                                      Effort effort) const;
    Column& column_of(const Task& task, const ClusterView& view) const;
    Column& add_column(const Task& task) const;
    static void lay_out(Column& column, const ClusterView& view);
    [[nodiscard]] std::vector<Task> kinds_to_catch_up();
    // For one kind. Counts `most` down.
    bool catch_up(const Task& task, const ClusterView& view, const Versions& versions,
                  std::size_t& most);
    // For who is waited for. Whoever is not gives way, after each rating: whether somebody else had
    // the mutex meanwhile.
    [[nodiscard]] std::unique_lock<std::mutex> lock() const;
    bool give_way(std::unique_lock<std::mutex>& lock) const;

    mutable std::mutex mutex_;
    mutable std::atomic<int> waiting_ = 0;                        // who ask, for the mutex
    const std::unique_ptr<FleetPolicy> policy_;                   // guarded by mutex_
    mutable std::unordered_map<Task, Column, TaskHash> columns_;  // guarded by mutex_
    mutable std::uint64_t numbers_ = 0;                           // of columns; guarded by mutex_
    mutable std::uint64_t requests_ = 0;                          // guarded by mutex_
    std::size_t turns_ = 0;                                       // of who catches up
};

}  // namespace tessera

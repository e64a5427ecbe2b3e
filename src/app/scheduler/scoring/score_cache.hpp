// Answers scores of a placement policy for the controller: many threads ask, with thousands of
// nodes per request. A score of a node is kept until that node changes, and nodes that are alike
// are scored once.
//
// With a slow policy, a request would wait if it asks for a new kind of task, or after many nodes
// have changed. So a request scores only a few nodes again: the fullest ones and those that would
// win by their old score. The other nodes keep their old score, or come last if they have none.
// catch_up() scores them later.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "domain/placement/engine/node_state.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/gpu_sets.hpp"
#include "domain/placement/node_scorer.hpp"

namespace tessera {

// A pod's score is the sum of its containers', each scored as though it came alone; its GPUs are
// chosen for one container after the other.
class ScoreCache final : public NodeScorer {
  public:
    static constexpr std::size_t kFullestAnew = 16;
    static constexpr std::size_t kBestAnew = 8;

    // The policy learns nothing here: its score of a task and a state is always the same.
    explicit ScoreCache(std::unique_ptr<PlacementPolicy> policy);

    [[nodiscard]] std::vector<std::int64_t> score(const Snapshot& snapshot,
                                                  std::span<const std::uint32_t> positions,
                                                  const PodRequest& pod) const override;
    [[nodiscard]] std::int64_t score_room(const NodeInfo& node, const NodeGpus& room,
                                          const PodRequest& pod) const override;
    [[nodiscard]] bool has_random_tie_break() const override;
    [[nodiscard]] std::optional<Assignment> choose(const NodeInfo& node, const NodeGpus& room,
                                                   const PodRequest& pod) const override;
    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeInfo& node, const NodeGpus& room,
                                               const PodRequest& pod) const override;

    // The kinds of tasks that were requested, and those to expect.
    [[nodiscard]] std::vector<PlacementTask> kinds() const;
    void expect(std::span<const PlacementTask> kinds);
    // Expects the kinds that were requested recently: from `before`, or from its predecessors.
    void expect_those_of(const ScoreCache& before);
    // Scores the nodes of the snapshot for all kinds, if that is not done yet, but yields to
    // requests. False if `most` scores were not enough. Kinds that were requested come before those
    // that are expected.
    bool catch_up(const Snapshot& snapshot, std::size_t most);

  private:
    struct Seen {
        std::uint64_t version = 0;  // PlacementRow::version
        std::int32_t score = 0;
    };
    // How much work a score may take.
    enum class Effort { known, as_before, full };
    // The scores of one kind of task.
    struct Column {
        std::uint64_t number = 0;                // unique
        std::uint64_t asked = 0;                 // the last request that asked for it; 0: none
        int unasked_for = 0;                     // for this many ScoreCaches before this one
        std::shared_ptr<const NameIndex> index;  // of by_position
        std::vector<Seen> by_position;
        StateMemo<std::int32_t> by_state;
        // Parts of nodes that rules allow, and that are not scored yet.
        std::vector<NodeLoad> left;
        std::uint64_t caught_up = 0;  // complete for all versions up to it
    };
    // PlacementRow::version of the open nodes, by position.
    struct Versions {
        std::vector<std::uint64_t> of;
        std::uint64_t newest = 0;
    };
    struct Scored;
    class Asking;
    struct RemainingGpus;

    // Nothing if the score needs more effort than allowed.
    std::optional<std::int32_t> score(Column& column, const PlacementTask& task,
                                      const PlacementRow& row, std::uint32_t position,
                                      Effort effort) const;
    std::optional<std::int32_t> score(Column& column, const PlacementTask& task,
                                      const NodeLoad& load, Effort effort) const;
    Column& column_of(const PlacementTask& task, const Snapshot& snapshot) const
        TESSERA_REQUIRES(mutex_);
    Column& add_column(const PlacementTask& task) const TESSERA_REQUIRES(mutex_);
    static void lay_out(Column& column, const Snapshot& snapshot);
    [[nodiscard]] std::vector<PlacementTask> kinds_to_catch_up();
    // For one kind. Subtracts the scores it computes from `most`.
    bool catch_up(const PlacementTask& task, const Snapshot& snapshot, const Versions& versions,
                  std::size_t& most);
    // lock() is for callers that others wait for. catch_up() calls give_way() after each score: it
    // yields to waiting requests, and returns whether one of them had the mutex meanwhile.
    [[nodiscard]] MutexLock lock() const TESSERA_ACQUIRE(mutex_);
    bool give_way() const TESSERA_REQUIRES(mutex_);

    mutable Mutex mutex_;
    mutable std::atomic<int> waiting_ = 0;  // requests that wait for the mutex
    const std::unique_ptr<PlacementPolicy> policy_;
    mutable std::unordered_map<PlacementTask, Column, TaskHash> columns_ TESSERA_GUARDED_BY(mutex_);
    mutable std::uint64_t numbers_ TESSERA_GUARDED_BY(mutex_) = 0;  // of columns
    mutable std::uint64_t requests_ TESSERA_GUARDED_BY(mutex_) = 0;
    std::size_t turns_ = 0;  // of the thread that catches up
};

}  // namespace tessera

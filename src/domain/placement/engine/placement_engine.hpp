// The nodes for tasks, in the order that breaks ties, and a log of their changes. With the log,
// code that keeps something per node updates the changed nodes only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// One owner; no locks.
class PlacementEngine {
  public:
    // `shapes` in tie order: the first node is preferred.
    explicit PlacementEngine(std::span<const NodeShape> shapes);

    // A given state, after this many thousandths of GPUs were allocated and released.
    PlacementEngine(std::vector<NodeLoad> loads, std::int64_t allocated_milli,
                    std::int64_t released_milli);

    [[nodiscard]] std::size_t size() const { return loads_.size(); }
    [[nodiscard]] const NodeLoad& load(std::size_t node) const { return loads_[node]; }

    // The node must be able to take the task. `gpus` must be as many as it requests, with enough
    // free on each.
    void place(std::size_t node, const PlacementTask& task, GpuSet gpus);
    // Undoes place().
    void release(std::size_t node, const PlacementTask& task, GpuSet gpus);
    // Undoes a place() that failed: it does not count as placed or released.
    void take_back(std::size_t node, const PlacementTask& task, GpuSet gpus);

    // Totals, in thousandths of GPUs, of place() and release().
    [[nodiscard]] std::int64_t allocated_milli() const { return allocated_milli_; }
    [[nodiscard]] std::int64_t released_milli() const { return released_milli_; }

    // The number of changes so far.
    [[nodiscard]] std::uint64_t version() const { return dropped_ + log_.size(); }
    // The nodes that changed since `version`, oldest first, one entry per change. Nothing if there
    // were more changes than nodes: read all nodes then.
    [[nodiscard]] std::optional<std::span<const std::uint32_t>> changes_since(
        std::uint64_t version) const;

  private:
    void count_kind(std::size_t node, const PlacementTask& task, int by);
    void note_change(std::size_t node);

    std::vector<NodeLoad> loads_;
    std::vector<std::array<std::uint32_t, kMaxGpus + 1>>
        kinds_;  // number of tasks per node and kind
    std::vector<std::uint32_t> log_;
    std::int64_t allocated_milli_ = 0;
    std::int64_t released_milli_ = 0;
    std::uint64_t dropped_ = 0;  // number of changes that were removed from the front of log_
};

}  // namespace tessera

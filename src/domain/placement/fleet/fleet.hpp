// The nodes that tasks are placed on, in the order that ties are broken in, and a log of which of
// them changed, so that whoever keeps something per node need look at those alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// One owner; no locks.
class Fleet {
  public:
    // `shapes` in tie order: the first is preferred.
    explicit Fleet(std::span<const NodeShape> shapes);

    // As it is now, after that many thousandths of cards were placed and released.
    Fleet(std::vector<NodeLoad> loads, std::int64_t placed_milli, std::int64_t released_milli);

    [[nodiscard]] std::size_t size() const { return loads_.size(); }
    [[nodiscard]] const NodeLoad& load(std::size_t node) const { return loads_[node]; }

    // The node can take the task, and `cards` are as many as it asks for, each with room.
    void place(std::size_t node, const Task& task, CardSet cards);
    // Undoes place().
    void release(std::size_t node, const Task& task, CardSet cards);
    // The same of a place() that came to nothing: nothing was moved.
    void take_back(std::size_t node, const Task& task, CardSet cards);

    // Thousandths of cards that place() and release() have moved in all.
    [[nodiscard]] std::int64_t placed_milli() const { return placed_milli_; }
    [[nodiscard]] std::int64_t released_milli() const { return released_milli_; }

    // Counts place() and release().
    [[nodiscard]] std::uint64_t version() const { return dropped_ + log_.size(); }
    // The nodes that changed since `version`, oldest first, a node as often as it changed. Nothing
    // when that was more changes ago than there are nodes: then look at all of them.
    [[nodiscard]] std::optional<std::span<const std::uint32_t>> changes_since(
        std::uint64_t version) const;

  private:
    void count_kind(std::size_t node, const Task& task, int by);
    void note_change(std::size_t node);

    std::vector<NodeLoad> loads_;
    std::vector<std::array<std::uint32_t, kMaxCards + 1>> kinds_;  // tasks per node and kind
    std::vector<std::uint32_t> log_;
    std::int64_t placed_milli_ = 0;
    std::int64_t released_milli_ = 0;
    std::uint64_t dropped_ = 0;  // changes that were in front of log_
};

}  // namespace tessera

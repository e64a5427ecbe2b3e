#include "domain/placement/engine/placement_engine.hpp"

#include <bit>
#include <utility>

#include "base/check.hpp"

namespace tessera {

PlacementEngine::PlacementEngine(std::span<const NodeShape> shapes) : kinds_(shapes.size()) {
    loads_.reserve(shapes.size());
    for (const NodeShape& shape : shapes)
        loads_.push_back(empty_load(shape));
}

PlacementEngine::PlacementEngine(std::vector<NodeLoad> loads, std::int64_t allocated_milli,
                                 std::int64_t released_milli)
    : loads_(std::move(loads)),
      kinds_(loads_.size()),
      allocated_milli_(allocated_milli),
      released_milli_(released_milli) {}

void PlacementEngine::place(std::size_t node, const PlacementTask& task, GpuSet gpus) {
    TESSERA_CHECK(can_take(loads_[node], task), "a task is placed where it fits");
    TESSERA_CHECK(std::popcount(gpus) == task.count, "as many GPUs as requested");
    const NodeLoad after = load_after(loads_[node], task, gpus);
    for (const std::int16_t free : after.milli)
        TESSERA_CHECK(free >= 0, "no GPU is assigned twice");
    loads_[node] = after;
    allocated_milli_ += milli_of(task);
    count_kind(node, task, 1);
    note_change(node);
}

void PlacementEngine::release(std::size_t node, const PlacementTask& task, GpuSet gpus) {
    PlacementTask back = task;
    back.cpu_milli = -task.cpu_milli;
    back.memory_mib = -task.memory_mib;
    back.milli = static_cast<std::int16_t>(-task.milli);
    loads_[node] = load_after(loads_[node], back, gpus);
    for (const std::int16_t free : loads_[node].milli)
        TESSERA_CHECK(free <= kMilliPerGpu, "only what was placed is released");
    released_milli_ += milli_of(task);
    count_kind(node, task, -1);
    note_change(node);
}

void PlacementEngine::take_back(std::size_t node, const PlacementTask& task, GpuSet gpus) {
    release(node, task, gpus);
    allocated_milli_ -= milli_of(task);
    released_milli_ -= milli_of(task);
}

std::optional<std::span<const std::uint32_t>> PlacementEngine::changes_since(
    std::uint64_t version) const {
    if (version < dropped_ || this->version() - version > size()) return std::nullopt;
    return std::span(log_).subspan(static_cast<std::size_t>(version - dropped_));
}

void PlacementEngine::count_kind(std::size_t node, const PlacementTask& task, int by) {
    const TaskKinds kind = kind_of(task);
    if (kind == 0) return;
    auto& count = kinds_[node][static_cast<std::size_t>(std::countr_zero(kind))];
    count += static_cast<std::uint32_t>(by);
    TaskKinds& kinds = loads_[node].kinds;
    kinds = count > 0 ? kinds | kind : kinds & ~kind;
}

void PlacementEngine::note_change(std::size_t node) {
    // The limit is twice the longest result of changes_since(), so that dropping entries costs
    // little per change.
    if (log_.size() >= 2 * size() + 2) {
        const auto half = static_cast<std::ptrdiff_t>(log_.size() - size());
        log_.erase(log_.begin(), log_.begin() + half);
        dropped_ += static_cast<std::uint64_t>(half);
    }
    log_.push_back(static_cast<std::uint32_t>(node));
}

}  // namespace tessera

// Nodes and tasks as policies see them, in thousandths of a card: the values of the placement
// engine. A share of memory or of cores maps to thousandths; whoever fills these values does so.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr int kMilliPerCard = 1000;
inline constexpr int kMaxCards = 16;   // of one node
inline constexpr int kMaxModels = 64;  // of one fleet

// Models of cards by their numbers: bit n for model n.
using ModelSet = std::uint64_t;
inline constexpr ModelSet kAnyModel = ~ModelSet{0};

// Cards of one node by their index: bit n for card n.
using CardSet = std::uint16_t;

constexpr ModelSet model_bit(int model) {
    return ModelSet{1} << model;
}
constexpr CardSet card_bit(int card) {
    return static_cast<CardSet>(1U << static_cast<unsigned>(card));
}

// What a node has.
struct NodeShape {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    int cards = 0;  // at most kMaxCards
    int model = 0;  // below kMaxModels

    friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

// What is asked for: `count` distinct cards with `milli` free on each; none when `count` is 0, and
// then `milli` is 0 too.
struct Task {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::int16_t milli = 0;  // at most kMilliPerCard
    std::int16_t count = 0;  // at most kMaxCards
    ModelSet models = kAnyModel;

    friend bool operator==(const Task&, const Task&) = default;
};

// Thousandths of cards that it asks for in all.
constexpr std::int32_t milli_of(const Task& task) {
    return task.milli * task.count;
}

// For tables by task. Here, because a decision takes two of them.
struct TaskHash {
    std::size_t operator()(const Task& task) const {
        std::uint64_t hash = task.models;
        for (const std::int32_t part :
             {task.cpu_milli, task.memory_mib, task.milli * (kMaxCards + 1) + task.count})
            hash = std::rotl((hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15U, 29);
        return static_cast<std::size_t>(hash);
    }
};

// The kinds of tasks that the policy Clustering tells apart: shares of one card, and whole cards by
// their number. Bit 0 is for shares, bit n for n cards.
using TaskKinds = std::uint32_t;

constexpr TaskKinds kind_of(const Task& task) {
    if (task.count == 0) return 0;
    const bool is_share = task.count == 1 && task.milli < kMilliPerCard;
    return is_share ? 1U : 1U << static_cast<unsigned>(task.count);
}

// What is free on a node now.
struct NodeLoad {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::array<std::int16_t, kMaxCards> milli{};  // per card; 0 beyond `cards`
    std::int16_t cards = 0;
    std::int16_t model = 0;
    TaskKinds kinds = 0;  // of the tasks that run there

    [[nodiscard]] int free_milli() const {
        int sum = 0;
        for (const std::int16_t card : milli)
            sum += card;
        return sum;
    }

    friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

NodeLoad empty_load(const NodeShape& shape);

// Whether the task fits but for the memory: model, CPU, cards.
bool can_take_but_memory(const NodeLoad& load, const Task& task);
bool can_take(const NodeLoad& load, const Task& task);

// The cards with the least free that fit, the lowest index among equals. `load` can take `task`.
CardSet tightest_cards(const NodeLoad& load, const Task& task);

// Whether a card before it has as much free: it rates the same, and the first wins.
inline bool has_twin_before(const NodeLoad& load, int card) {
    const auto* const end = load.milli.begin() + card;
    return std::find(load.milli.begin(), end, *end) != end;
}

// `load`, in which all cards but these are full.
NodeLoad only(NodeLoad load, CardSet cards);

// `load` once the task holds `cards`; its kind is not noted.
NodeLoad load_after(const NodeLoad& load, const Task& task, CardSet cards);

}  // namespace tessera

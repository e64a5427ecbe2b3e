#include "domain/placement/fleet/node_load.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tessera {

NodeLoad empty_load(const NodeShape& shape) {
    TESSERA_CHECK(shape.cards >= 0 && shape.cards <= kMaxCards, "a node has at most kMaxCards");
    TESSERA_CHECK(shape.model >= 0 && shape.model < kMaxModels, "a fleet has at most kMaxModels");
    NodeLoad load{.cpu_milli = shape.cpu_milli,
                  .memory_mib = shape.memory_mib,
                  .cards = static_cast<std::int16_t>(shape.cards),
                  .model = static_cast<std::int16_t>(shape.model)};
    std::fill_n(load.milli.begin(), shape.cards, static_cast<std::int16_t>(kMilliPerCard));
    return load;
}

bool can_take_but_memory(const NodeLoad& load, const Task& task) {
    if (load.cpu_milli < task.cpu_milli) return false;
    if (task.count == 0) return true;
    if ((task.models & model_bit(load.model)) == 0) return false;
    int fitting = 0;
    for (int card = 0; card < load.cards; ++card)
        fitting += load.milli[static_cast<std::size_t>(card)] >= task.milli ? 1 : 0;
    return fitting >= task.count;
}

bool can_take(const NodeLoad& load, const Task& task) {
    return load.memory_mib >= task.memory_mib && can_take_but_memory(load, task);
}

CardSet tightest_cards(const NodeLoad& load, const Task& task) {
    CardSet chosen = 0;
    for (int taken = 0; taken < task.count; ++taken) {
        int best = -1;
        for (int card = 0; card < load.cards; ++card) {
            const int free = load.milli[static_cast<std::size_t>(card)];
            if (free < task.milli || (chosen & card_bit(card)) != 0) continue;
            if (best < 0 || free < load.milli[static_cast<std::size_t>(best)]) best = card;
        }
        TESSERA_CHECK(best >= 0, "only a node that can take the task is asked for cards");
        chosen = static_cast<CardSet>(chosen | card_bit(best));
    }
    return chosen;
}

NodeLoad only(NodeLoad load, CardSet cards) {
    for (int card = 0; card < kMaxCards; ++card) {
        if ((cards & card_bit(card)) == 0) load.milli.at(static_cast<std::size_t>(card)) = 0;
    }
    return load;
}

NodeLoad load_after(const NodeLoad& load, const Task& task, CardSet cards) {
    NodeLoad after = load;
    after.cpu_milli -= task.cpu_milli;
    after.memory_mib -= task.memory_mib;
    for (int card = 0; card < load.cards; ++card) {
        if ((cards & card_bit(card)) == 0) continue;
        auto& free = after.milli[static_cast<std::size_t>(card)];
        free = static_cast<std::int16_t>(free - task.milli);
    }
    return after;
}

}  // namespace tessera

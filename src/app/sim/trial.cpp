#include "app/sim/trial.hpp"

#include <ranges>

namespace tessera {

Trial::~Trial() {
    for (const One& one : placed_ | std::views::reverse)
        fleet_.take_back(one.node, one.task, one.cards);
}

void Trial::place(std::size_t node, const Task& task, CardSet cards) {
    fleet_.place(node, task, cards);
    placed_.push_back({node, task, cards});
}

}  // namespace tessera

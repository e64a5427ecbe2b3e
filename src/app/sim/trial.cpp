#include "app/sim/trial.hpp"

namespace tessera {

Trial::~Trial() {
    for (auto one = placed_.rbegin(); one != placed_.rend(); ++one)
        fleet_.take_back(one->node, one->task, one->cards);
}

void Trial::place(std::size_t node, const Task& task, CardSet cards) {
    fleet_.place(node, task, cards);
    placed_.push_back({node, task, cards});
}

}  // namespace tessera

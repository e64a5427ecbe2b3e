// Which of a node's cards a pod admits by its rules (request/card_rules.hpp), whatever is free on
// them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/request/card_rules.hpp"

namespace tessera {

// Why a card is not admitted: it is another than asked for, or because of who is on it.
enum class Admitted { yes, other_card, company };

// Reused across nodes by one thread, so that names are compared once per model.
class Admission {
  public:
    // The rules outlive it.
    explicit Admission(const CardRules& rules) : rules_(rules), any_(rules.admits_any()) {}

    // Of these cards, until the next call.
    void look_at(const Offer& offer);
    [[nodiscard]] bool admits(std::size_t card) const {
        return any_ || verdicts_[card] == Admitted::yes;
    }
    [[nodiscard]] Admitted verdict(std::size_t card) const {
        return any_ ? Admitted::yes : verdicts_[card];
    }

  private:
    bool admits_names(const Gpu& gpu);

    const CardRules& rules_;
    const bool any_;
    std::vector<Admitted> verdicts_;
    std::vector<std::pair<std::string, bool>> models_;  // seen
};

}  // namespace tessera

// The pods of groups that are to share cards (CardRules::together), wherever they are.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "base/ids.hpp"
#include "domain/request/card_rules.hpp"

namespace tessera {

class Company {
  public:
    // A pod that holds cards, or for which room is kept.
    void add(CardGroup group, const PodUid& pod) { pods_[group].insert(pod); }
    void remove(CardGroup group, const PodUid& pod) {
        const auto at = pods_.find(group);
        if (at == pods_.end()) return;
        at->second.erase(pod);
        if (at->second.empty()) pods_.erase(at);
    }
    [[nodiscard]] bool has_other(CardGroup group, const PodUid& than) const {
        const auto at = pods_.find(group);
        return at != pods_.end() &&
               std::ranges::any_of(at->second, [&](const PodUid& pod) { return pod != than; });
    }

  private:
    std::map<CardGroup, std::set<PodUid>> pods_;
};

}  // namespace tessera

// The pods of groups that are to share cards (CardRules::together), wherever they are.
#pragma once

#include <algorithm>
#include <map>

#include "base/ids.hpp"
#include "domain/request/card_rules.hpp"

namespace tessera {

// One thread writes; a copy of it is read by any.
class Company {
  public:
    enum class As { holder, nominee };  // it holds cards, or room is kept for it

    // A pod may be of it by several nodes, for as long as they are brought up to date one by one.
    void add(CardGroup group, const PodUid& pod, As as) { count(pods_[group][pod], as, 1); }
    void remove(CardGroup group, const PodUid& pod, As as) {
        const auto at = pods_.find(group);
        if (at == pods_.end()) return;
        Member& member = at->second[pod];
        count(member, as, -1);
        if (member.holds == 0 && member.kept == 0) at->second.erase(pod);
        if (at->second.empty()) pods_.erase(at);
    }
    // Whether the pod is to join another. For one that room is kept for, those alone that hold
    // cards count: of two that wait for each other, neither would ever be placed.
    [[nodiscard]] bool has_other(CardGroup group, const PodUid& than) const {
        const auto at = pods_.find(group);
        if (at == pods_.end()) return false;
        const bool is_kept = at->second.contains(than);
        return std::ranges::any_of(at->second, [&](const auto& member) {
            return member.first != than && (!is_kept || member.second.holds > 0);
        });
    }

  private:
    struct Member {
        int holds = 0;  // nodes
        int kept = 0;
    };
    static void count(Member& member, As as, int sign) {
        (as == As::holder ? member.holds : member.kept) += sign;
    }

    std::map<CardGroup, std::map<PodUid, Member>> pods_;
};

}  // namespace tessera

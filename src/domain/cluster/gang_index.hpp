// Which pods are of one gang.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>

#include "base/ids.hpp"

namespace tessera {

struct GangId {
    std::string space;  // namespace
    std::string name;

    friend auto operator<=>(const GangId&, const GangId&) = default;
};

// One thread.
class GangIndex {
  public:
    void add(const GangId& gang, const PodUid& pod) {
        if (gang_of_.try_emplace(pod, gang).second) pods_[gang].insert(pod);
    }
    void remove(const PodUid& pod) {
        const auto member = gang_of_.extract(pod);
        if (!member) return;
        const auto at = pods_.find(member.mapped());
        at->second.erase(pod);
        if (at->second.empty()) pods_.erase(at);
    }
    // Ascending by uid.
    [[nodiscard]] const std::set<PodUid>& pods(const GangId& gang) const {
        static const std::set<PodUid> none;
        const auto at = pods_.find(gang);
        return at == pods_.end() ? none : at->second;
    }

  private:
    std::map<GangId, std::set<PodUid>> pods_;
    std::map<PodUid, GangId> gang_of_;
};

}  // namespace tessera

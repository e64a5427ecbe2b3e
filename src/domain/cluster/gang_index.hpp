// The pods of each gang.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace tessera {

struct GangId {
    std::string ns;  // namespace
    std::string name;

    friend auto operator<=>(const GangId&, const GangId&) = default;
};

// What is known of a pod of a gang, on any node or on none.
struct GangMember {
    std::string name;
    int size = 0;                       // of its gang, as the pod states it; 0: it states none
    std::string not_counted_because{};  // a reason why it cannot be placed yet; usually empty
};

// Used by one thread.
class GangIndex {
  public:
    // A pod stays in the first gang that it was in.
    void set(const GangId& gang, const PodUid& pod, GangMember member) {
        const GangId& id = gang_of_.try_emplace(pod, gang).first->second;
        pods_[id].insert_or_assign(pod, std::move(member));
    }
    void remove(const PodUid& pod) {
        const auto member = gang_of_.extract(pod);
        if (!member) return;
        const auto at = pods_.find(member.mapped());
        at->second.erase(pod);
        if (at->second.empty()) pods_.erase(at);
    }
    [[nodiscard]] std::vector<PodUid> others_than(const std::set<PodUid>& uids) const {
        std::vector<PodUid> out;
        for (const auto& [pod, gang] : gang_of_) {
            if (!uids.contains(pod)) out.push_back(pod);
        }
        return out;
    }
    // Ascending by uid.
    [[nodiscard]] const std::map<PodUid, GangMember>& pods(const GangId& gang) const {
        static const std::map<PodUid, GangMember> none;
        const auto at = pods_.find(gang);
        return at == pods_.end() ? none : at->second;
    }

  private:
    std::map<GangId, std::map<PodUid, GangMember>> pods_;
    std::map<PodUid, GangId> gang_of_;
};

}  // namespace tessera

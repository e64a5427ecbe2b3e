// The pods of each affinity group (GpuRules::affinity), over all nodes.
#pragma once

#include <algorithm>
#include <map>

#include "base/ids.hpp"
#include "domain/request/gpu_rules.hpp"

namespace tessera {

// One thread writes; any thread may read a copy.
class GpuAffinityIndex {
  public:
    enum class As { holder, nominee };  // it has GPUs, or it has a reservation

    // A pod can be counted on several nodes while these are updated one by one.
    void add(GpuGroup group, const PodUid& pod, As as) { count(pods_[group][pod], as, 1); }
    void remove(GpuGroup group, const PodUid& pod, As as) {
        const auto at = pods_.find(group);
        if (at == pods_.end()) return;
        Member& member = at->second[pod];
        count(member, as, -1);
        if (member.allocated == 0 && member.reserved == 0) at->second.erase(pod);
        if (at->second.empty()) pods_.erase(at);
    }
    // Whether the pod must join another pod of the group. A pod with a reservation joins only pods
    // that have GPUs: two pods that wait for each other would never be placed.
    [[nodiscard]] bool has_other(GpuGroup group, const PodUid& than) const {
        const auto at = pods_.find(group);
        if (at == pods_.end()) return false;
        const bool is_nominee = at->second.contains(than);
        return std::ranges::any_of(at->second, [&](const auto& member) {
            return member.first != than && (!is_nominee || member.second.allocated > 0);
        });
    }

  private:
    struct Member {
        int allocated = 0;  // nodes on which it has GPUs
        int reserved = 0;   // nodes on which it has a reservation
    };
    static void count(Member& member, As as, int sign) {
        (as == As::holder ? member.allocated : member.reserved) += sign;
    }

    std::map<GpuGroup, std::map<PodUid, Member>> pods_;
};

}  // namespace tessera

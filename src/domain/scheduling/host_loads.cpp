#include "domain/scheduling/host_loads.hpp"

namespace tessera {

bool HostLoads::set(const PodUid& pod, const NodeName& node, const HostRequest& request) {
    const auto [at, is_new] = pods_.try_emplace(pod);
    Pod& known = at->second;
    if (!is_new && known.node == node && known.request == request) return false;
    if (!is_new) count(known, -1);
    known = {node, request};
    count(known, 1);
    return true;
}

NodeName HostLoads::remove(const PodUid& pod) {
    const auto at = pods_.find(pod);
    if (at == pods_.end()) return {};
    NodeName node = at->second.node;
    count(at->second, -1);
    pods_.erase(at);
    return node;
}

std::vector<PodUid> HostLoads::others_than(const std::set<PodUid>& pods) const {
    std::vector<PodUid> out;
    for (const auto& [uid, pod] : pods_) {
        if (!pods.contains(uid)) out.push_back(uid);
    }
    return out;
}

HostRequest HostLoads::of(const NodeName& node) const {
    const auto at = nodes_.find(node);
    return at == nodes_.end() ? HostRequest{} : at->second.request;
}

std::int64_t HostLoads::pods_of(const NodeName& node) const {
    const auto at = nodes_.find(node);
    return at == nodes_.end() ? 0 : at->second.pods;
}

void HostLoads::count(const Pod& pod, int sign) {
    Sum& sum = nodes_[pod.node];
    sum.request.cpu_milli += sign * pod.request.cpu_milli;
    sum.request.memory.count += sign * pod.request.memory.count;
    sum.pods += sign;
    if (sum.pods == 0) nodes_.erase(pod.node);
}

}  // namespace tessera

// All ways to place a snapshot's few pods, to compare its bound with.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "domain/dump/cluster_dump.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {

// Places pods on empty nodes, in thousandths of each GPU. Affinity and gangs are ignored. The
// search has no time limit.
class DumpExhaustive {
  public:
    explicit DumpExhaustive(const ClusterDump& dump) : dump_(dump) {
        for (const DumpNode& node : dump.nodes) {
            hosts_.push_back(node.host);
            free_.emplace_back();
            for (const DumpGpu& gpu : node.gpus)
                free_.back().push_back(gpu.healthy ? kMilliPerGpu : 0);
        }
        place_pod(0, 0, 0);
    }

    [[nodiscard]] int most_milli() const { return most_milli_; }
    [[nodiscard]] bool can_place_all() const { return can_place_all_; }

  private:
    void place_pod(std::size_t at, int milli, int dropped) {
        if (at == dump_.pods.size()) {
            most_milli_ = std::max(most_milli_, milli);
            can_place_all_ = can_place_all_ || dropped == 0;
            return;
        }
        const DumpPod& pod = dump_.pods[at];
        for (std::size_t node = 0; node < hosts_.size(); ++node) {
            const HostRequest before = hosts_[node];
            if (pod.host.cpu_milli > before.cpu_milli || pod.host.memory > before.memory) continue;
            hosts_[node].cpu_milli -= pod.host.cpu_milli;
            hosts_[node].memory = hosts_[node].memory - pod.host.memory;
            place_container(at, 0, node, milli, dropped);
            hosts_[node] = before;
        }
        place_pod(at + 1, milli, dropped + 1);
    }

    void place_container(std::size_t at, std::size_t container, std::size_t node, int milli,
                         int dropped) {
        const DumpPod& pod = dump_.pods[at];
        if (container == pod.requests.size()) return place_pod(at + 1, milli, dropped);
        const auto count = static_cast<unsigned>(free_[node].size());
        for (unsigned gpus = 0; gpus < 1U << count; ++gpus) {
            if (std::popcount(gpus) != pod.requests[container].gpus) continue;
            const std::vector<int> before = free_[node];
            int allocated = 0;
            bool fits = true;
            for (unsigned gpu = 0; gpu < count && fits; ++gpu) {
                if ((gpus >> gpu & 1U) == 0) continue;
                const int share = share_on(pod, pod.requests[container], node, gpu);
                fits = share >= 0 && share <= free_[node][gpu];
                if (!fits) break;
                free_[node][gpu] -= share;
                allocated += share;
            }
            if (fits) place_container(at, container + 1, node, milli + allocated, dropped);
            free_[node] = before;
        }
    }

    // -1: the pod never fits.
    [[nodiscard]] int share_on(const DumpPod& pod, const DumpRequest& request, std::size_t node,
                               std::size_t gpu) const {
        const DumpGpu& on = dump_.nodes[node].gpus[gpu];
        const auto rules = parse_gpu_rules(pod.gpu_rules, pod.name.ns);
        const Bytes memory = bytes_of(request.memory, dump_.nodes[node].unit, on.memory);
        const bool is_for_it =
            memory <= on.memory && admits_model(*rules, on.model) && admits_uuid(*rules, on.uuid);
        return is_for_it ? milli_of(memory, request.cores, on.memory) : -1;
    }

    const ClusterDump& dump_;
    std::vector<HostRequest> hosts_;
    std::vector<std::vector<int>> free_;
    int most_milli_ = 0;
    bool can_place_all_ = false;
};

}  // namespace tessera

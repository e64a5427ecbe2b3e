// All ways to place a snapshot's few pods: what its bound is held against.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "domain/placement/engine_terms.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// On nodes without them. What is on a card is in thousandths of that card; company and gangs are
// not looked at. Takes as long as it takes.
class SnapshotExhaustive {
  public:
    explicit SnapshotExhaustive(const ClusterSnapshot& snapshot) : snapshot_(snapshot) {
        for (const SnapshotNode& node : snapshot.nodes) {
            hosts_.push_back(node.host);
            free_.emplace_back();
            for (const SnapshotCard& card : node.cards)
                free_.back().push_back(card.healthy ? kMilliPerCard : 0);
        }
        place_pod(0, 0, 0);
    }

    [[nodiscard]] int most_milli() const { return most_milli_; }
    [[nodiscard]] bool can_place_all() const { return can_place_all_; }

  private:
    void place_pod(std::size_t at, int milli, int dropped) {
        if (at == snapshot_.pods.size()) {
            most_milli_ = std::max(most_milli_, milli);
            can_place_all_ = can_place_all_ || dropped == 0;
            return;
        }
        const SnapshotPod& pod = snapshot_.pods[at];
        for (std::size_t node = 0; node < hosts_.size(); ++node) {
            const HostAsk before = hosts_[node];
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
        const SnapshotPod& pod = snapshot_.pods[at];
        if (container == pod.asks.size()) return place_pod(at + 1, milli, dropped);
        const auto count = static_cast<unsigned>(free_[node].size());
        for (unsigned cards = 0; cards < 1U << count; ++cards) {
            if (std::popcount(cards) != pod.asks[container].gpus) continue;
            const std::vector<int> before = free_[node];
            int held = 0;
            bool fits = true;
            for (unsigned card = 0; card < count && fits; ++card) {
                if ((cards >> card & 1U) == 0) continue;
                const int share = share_on(pod, pod.asks[container], node, card);
                fits = share >= 0 && share <= free_[node][card];
                if (!fits) break;
                free_[node][card] -= share;
                held += share;
            }
            if (fits) place_container(at, container + 1, node, milli + held, dropped);
            free_[node] = before;
        }
    }

    // -1: never.
    [[nodiscard]] int share_on(const SnapshotPod& pod, const SnapshotAsk& ask, std::size_t node,
                               std::size_t card) const {
        const SnapshotCard& on = snapshot_.nodes[node].cards[card];
        const auto rules = parse_card_rules(pod.card_rules, pod.name.space);
        const Bytes memory = bytes_of(ask.memory, snapshot_.nodes[node].unit, on.memory);
        const bool is_for_it =
            memory <= on.memory && admits_model(*rules, on.model) && admits_uuid(*rules, on.uuid);
        return is_for_it ? milli_of(memory, ask.cores, on.memory) : -1;
    }

    const ClusterSnapshot& snapshot_;
    std::vector<HostAsk> hosts_;
    std::vector<std::vector<int>> free_;
    int most_milli_ = 0;
    bool can_place_all_ = false;
};

}  // namespace tessera

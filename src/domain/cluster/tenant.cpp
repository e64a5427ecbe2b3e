#include "domain/cluster/tenant.hpp"

#include <algorithm>

namespace tessera {

void count_holds(const Tenant& tenant, std::span<const Gpu> gpus, std::span<Card> cards, int sign) {
    for (const Hold& hold : tenant.holds) {
        const Gpu* gpu = find_gpu(gpus, hold.uuid);
        if (gpu == nullptr) continue;
        Card& card = cards[static_cast<std::size_t>(gpu - gpus.data())];
        // A pod takes a card at most whole, whatever its annotation says: sums stay small.
        card.held.count += sign * std::min(hold.memory, card.capacity).count;
        card.cores_held.value += sign * std::min(hold.cores, Percent{100}).value;
        card.holders += sign;
        for (const CardGroup group : tenant.groups) {
            if (sign > 0) {
                card.groups.push_back(group);
            } else if (const auto at = std::ranges::find(card.groups, group);
                       at != card.groups.end()) {
                card.groups.erase(at);
            }
        }
    }
}

}  // namespace tessera

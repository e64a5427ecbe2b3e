#include "domain/defrag/layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::defrag {
namespace {

Bytes on_cards(const Tenant& tenant, std::span<const Gpu> gpus) {
    Bytes sum;
    for (const Hold& hold : tenant.holds) {
        const Gpu* gpu = find_gpu(gpus, hold.uuid);
        if (gpu != nullptr) sum += std::min(hold.memory, gpu->capacity());
    }
    return sum;
}

std::vector<std::size_t> positions(const Tenant& tenant, std::span<const Gpu> gpus) {
    std::vector<std::size_t> out;
    for (const Hold& hold : tenant.holds) {
        const Gpu* gpu = find_gpu(gpus, hold.uuid);
        if (gpu != nullptr) out.push_back(static_cast<std::size_t>(gpu - gpus.data()));
    }
    std::ranges::sort(out);
    return out;
}

// Of a tenant on a card, as count_holds counts it.
std::pair<Bytes, Percent> held_on(const Tenant& tenant, std::span<const Gpu> gpus,
                                  std::size_t card) {
    Bytes memory;
    Percent cores;
    for (const Hold& hold : tenant.holds) {
        if (find_gpu(gpus, hold.uuid) != &gpus[card]) continue;
        memory += std::min(hold.memory, gpus[card].capacity());
        cores = cores + std::min(hold.cores, Percent{100});
    }
    return {memory, cores};
}

// How many of the largest amounts cover the lack; nothing where all of them do not.
template <class Amount>
std::optional<std::int64_t> how_many(std::vector<Amount> amounts, Amount lack) {
    std::ranges::sort(amounts, std::greater{});
    std::int64_t taken = 0;
    for (const Amount amount : amounts) {
        if (lack <= 0) break;
        lack -= amount;
        ++taken;
    }
    return lack <= 0 ? std::optional(taken) : std::nullopt;
}

}  // namespace

bool Place::touches(const Lodger& lodger) const {
    if (node != lodger.node) return false;
    return std::ranges::any_of(fit.cards, [&](int card) {
        return std::ranges::find(lodger.cards, static_cast<std::size_t>(card)) !=
               lodger.cards.end();
    });
}

Layout::Layout(const Cluster& cluster, const Asker& asker) {
    for (const ClusterView::NodePtr& node : cluster.nodes) {
        NodeRoom room{.view = node.get(),
                      .open = node->blocked.empty() && !node->cards.empty() &&
                              !cluster.closed.contains(node->inventory.name),
                      .cards = cards_left(*node, asker),
                      .lodgers = {}};
        room.lodgers.resize(room.cards.size());
        rooms_.push_back(std::move(room));
    }
    add_lodgers(cluster);
}

void Layout::add_lodgers(const Cluster& cluster) {
    std::map<PodUid, const MovablePod*> movable;
    for (const MovablePod& pod : cluster.movable) {
        if (!pod.request.empty()) movable.emplace(pod.uid, &pod);
    }
    for (std::size_t node = 0; node < rooms_.size(); ++node) {
        const NodeView& view = *rooms_[node].view;
        for (const TenantPtr& tenant : view.tenants) {
            const auto of = movable.find(tenant->uid);
            if (of == movable.end() || tenant->terminating || tenant->resizing) continue;
            Lodger lodger{.tenant = tenant.get(),
                          .node = node,
                          .cards = positions(*tenant, view.inventory.gpus),
                          .size = on_cards(*tenant, view.inventory.gpus),
                          .pod = of->second,
                          .one_share = asks_one_share(of->second->request)};
            if (!lodger.cards.empty()) lodgers_.push_back(std::move(lodger));
        }
    }
    // The least work is lost with the smallest. Among equals those on the last cards go first: the
    // scheduler fills the first ones, and with them the new pods do not come back.
    std::ranges::sort(lodgers_, [](const Lodger& a, const Lodger& b) {
        return std::tuple(a.size, b.node, b.cards, a.tenant->uid) <
               std::tuple(b.size, a.node, a.cards, b.tenant->uid);
    });
    for (std::size_t i = 0; i < lodgers_.size(); ++i) {
        for (const std::size_t card : lodgers_[i].cards)
            rooms_[lodgers_[i].node].lodgers[card].push_back(i);
    }
}

Room Layout::room() const {
    Room out;
    for (const NodeRoom& node : rooms_) {
        if (!node.open) continue;
        for (const Card& card : node.cards) {
            out.largest = std::max(out.largest, card.free());
            if (card.healthy && card.holders == 0 && card.held == Bytes{}) ++out.free_cards;
        }
    }
    return out;
}

std::size_t Layout::usable_cards() const {
    std::size_t count = 0;
    for (const NodeRoom& node : rooms_) {
        if (!node.open) continue;
        count += static_cast<std::size_t>(
            std::ranges::count_if(node.cards, [](const Card& card) { return card.healthy; }));
    }
    return count;
}

std::optional<Fit> Layout::fit(Placer& placer, std::size_t node) const {
    const NodeRoom& room = rooms_[node];
    if (!room.open) return std::nullopt;
    const RoomLeft left(room.cards);
    const Fit* found = placer.try_node(left.offer(*room.view));
    return found == nullptr ? std::nullopt : std::optional(*found);
}

bool Layout::could_fit(Placer& placer, std::size_t node) const {
    const NodeView& view = *rooms_[node].view;
    std::vector<Card> cards = view.cards;
    for (const Lodger& lodger : lodgers_) {
        if (lodger.node == node) count_holds(*lodger.tenant, view.inventory.gpus, cards, -1);
    }
    const RoomLeft left(std::move(cards));
    return placer.try_node(left.offer(view)) != nullptr;
}

std::vector<Place> Layout::places(const Lodger& lodger) const {
    Placer placer(lodger.pod->request);
    std::vector<Place> out;
    for (std::size_t node = 0; node < rooms_.size(); ++node) {
        if (!rooms_[node].open || is_barred(lodger.pod->barred, node)) continue;
        if (lodger.one_share) {
            places_of_one_share(lodger, node, placer, out);
        } else {
            place_of_several(lodger, node, placer, out);
        }
    }
    if (lodger.pod->spreads && !out.empty()) {
        // The first in order among equals, as the policy has it.
        return {*std::ranges::max_element(out, {}, [this](const Place& place) {
            return std::tuple(room_left(place), -static_cast<std::int64_t>(place.node),
                              -place.fit.cards.front());
        })};
    }
    std::ranges::sort(out, [](const Place& a, const Place& b) {
        return std::tie(a.fit.price, a.node, a.fit.cards) <
               std::tie(b.fit.price, b.node, b.fit.cards);
    });
    return out;
}

std::int64_t Layout::room_left(const Place& place) const {
    std::int64_t milli = 0;
    for (const int at : place.fit.cards) {
        const Card& card = rooms_[place.node].cards[static_cast<std::size_t>(at)];
        if (card.capacity > Bytes{}) milli += card.free().count * 1'000 / card.capacity.count;
    }
    return milli;
}

void Layout::places_of_one_share(const Lodger& lodger, std::size_t node, Placer& placer,
                                 std::vector<Place>& out) const {
    const NodeRoom& room = rooms_[node];
    Offer offer = room.view->offer();
    for (std::size_t card = 0; card < room.cards.size(); ++card) {
        const Bytes free = room.cards[card].free();
        if (free <= Bytes{}) continue;
        offer.gpus = {&room.view->inventory.gpus[card], 1};
        offer.cards = {&room.cards[card], 1};
        offer.free = {&free, 1};
        offer.islands = {};
        const Fit* fit = placer.try_node(offer);
        if (fit == nullptr) continue;
        Place place{node, {{static_cast<int>(card)}, fit->price}};
        if (!place.touches(lodger)) out.push_back(std::move(place));
    }
}

void Layout::place_of_several(const Lodger& lodger, std::size_t node, Placer& placer,
                              std::vector<Place>& out) const {
    std::vector<Card> cards = rooms_[node].cards;
    if (node == lodger.node) {
        for (const std::size_t card : lodger.cards)
            cards[card].healthy = false;
    }
    const RoomLeft left(std::move(cards));
    const Fit* fit = placer.try_node(left.offer(*rooms_[node].view));
    if (fit != nullptr) out.push_back({node, *fit});
}

void Layout::leave(std::size_t lodger) {
    Lodger& of = lodgers_[lodger];
    of.moved = true;
    NodeRoom& room = rooms_[of.node];
    count_holds(*of.tenant, room.view->inventory.gpus, room.cards, -1);
}

void Layout::undo_leave(std::size_t lodger) {
    Lodger& of = lodgers_[lodger];
    of.moved = false;
    NodeRoom& room = rooms_[of.node];
    count_holds(*of.tenant, room.view->inventory.gpus, room.cards, 1);
}

void Layout::enter(std::size_t lodger, const Place& place) {
    count(lodger, place, 1);
}

void Layout::undo_enter(std::size_t lodger, const Place& place) {
    count(lodger, place, -1);
}

void Layout::count(std::size_t lodger, const Place& place, int sign) {
    NodeRoom& room = rooms_[place.node];
    const NodeInventory& node = room.view->inventory;
    Tenant made;
    made.holds =
        holds(containers_of(lodgers_[lodger].pod->request, place.fit, node.gpus, node.unit));
    made.groups = rules_of(lodgers_[lodger].pod->request).groups();
    count_holds(made, node.gpus, room.cards, sign);
}

std::int64_t Layout::cost(const ContainerRequest& container, std::size_t node,
                          std::size_t at) const {
    const NodeRoom& room = rooms_[node];
    const Card& card = room.cards[at];
    if (!room.open || !card.healthy) return kNever;
    const bool whole = container.gpu.memory.kind == MemoryAsk::Kind::whole_card;
    const Bytes ask = bytes_of(container.gpu.memory, room.view->inventory.unit, card.capacity);
    const Bytes lack = ask - card.free();
    const int cores_lack = (card.cores_held + container.gpu.cores).value - 100;
    const bool fits = lack <= Bytes{} && cores_lack <= 0 && !(whole && card.holders > 0);
    if (fits) return 0;
    std::vector<std::int64_t> memory;
    std::vector<int> cores;
    std::int64_t all = 0;
    std::size_t widest = 1;
    for (const std::size_t i : room.lodgers[at]) {
        const Lodger& lodger = lodgers_[i];
        if (lodger.moved) continue;
        const auto [held, held_cores] = held_on(*lodger.tenant, room.view->inventory.gpus, at);
        memory.push_back(held.count);
        cores.push_back(held_cores.value);
        all += kOneMove / static_cast<std::int64_t>(lodger.cards.size());
        widest = std::max(widest, lodger.cards.size());
    }
    const auto by_memory = how_many(std::move(memory), lack.count);
    const auto by_cores = how_many(std::move(cores), cores_lack);
    const auto count = static_cast<int>(
        std::ranges::count_if(room.lodgers[at], [&](std::size_t i) { return !lodgers_[i].moved; }));
    if (!by_memory || !by_cores || (whole && card.holders > count)) return kNever;
    if (whole) return all;
    return std::max(*by_memory, *by_cores) * (kOneMove / static_cast<std::int64_t>(widest));
}

}  // namespace tessera::defrag

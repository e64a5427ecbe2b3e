#include "domain/defrag/layout.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "domain/placement/engine_terms.hpp"
#include "domain/placement/given_cards.hpp"

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

// Who asks for the pod's new one: a pod that nobody has heard of.
Asker successor_of(const MovablePod& pod) {
    static const PodUid unknown;
    return {unknown, pod.ask.priority};
}

// Who asks for nothing of it fits where less than that is left, too.
bool has_host_room(const NodeInventory& node, const HostAsk& left, const HostAsk& ask) {
    if (node.host == HostAsk{}) return true;  // it has not said
    const Bytes whole_mib{(ask.memory.count + kMiB - 1) / kMiB * kMiB};
    return (ask.cpu_milli == 0 || ask.cpu_milli <= left.cpu_milli) &&
           (whole_mib == Bytes{} || whole_mib <= left.memory);
}

}  // namespace

bool Place::touches(const Lodger& lodger) const {
    if (node != lodger.node) return false;
    return std::ranges::any_of(fit.cards, [&](int card) {
        return std::ranges::find(lodger.cards, static_cast<std::size_t>(card)) !=
               lodger.cards.end();
    });
}

bool Place::is_same(const Place& other) const {
    return node == other.node && fit.cards == other.fit.cards;
}

Layout::Layout(const Cluster& cluster, const Asker& asker, std::size_t most_kinds)
    : asker_(asker),
      most_kinds_(most_kinds),
      has_nominees_(std::ranges::any_of(cluster.nodes,
                                        [](const auto& node) { return !node->nominees.empty(); })) {
    rooms_.reserve(cluster.nodes.size());
    for (const ClusterView::NodePtr& node : cluster.nodes) {
        NodeRoom room{.view = node.get(),
                      .now = *node,
                      .used = {node->inventory.host.cpu_milli - node->load.cpu_milli,
                               node->inventory.host.memory - mebibytes(node->load.memory_mib)},
                      .open = node->blocked.empty() && !node->cards.empty() &&
                              !cluster.closed.contains(node->inventory.name),
                      .lodgers = {}};
        room.lodgers.resize(room.now.cards.size());
        room.version = ++versions_;
        rooms_.push_back(std::move(room));
        refresh(rooms_.size() - 1);
    }
    add_lodgers(cluster);
}

void Layout::add_lodgers(const Cluster& cluster) {
    std::unordered_map<PodUid, const MovablePod*> movable;
    movable.reserve(cluster.movable.size());
    for (const MovablePod& pod : cluster.movable) {
        if (!pod.ask.request.empty()) movable.emplace(pod.ask.uid, &pod);
    }
    for (std::size_t node = 0; node < rooms_.size(); ++node) {
        const NodeView& view = *rooms_[node].view;
        for (const TenantPtr& tenant : view.tenants) {
            const auto of = movable.find(tenant->uid);
            if (of == movable.end() || tenant->terminating || tenant->resizing) continue;
            Lodger lodger{.tenant = tenant,
                          .node = node,
                          .cards = positions(*tenant, view.inventory.gpus),
                          .size = on_cards(*tenant, view.inventory.gpus),
                          .pod = of->second,
                          .held = {}};
            if (lodger.cards.empty()) continue;
            for (const std::size_t card : lodger.cards)
                lodger.held.push_back(held_on(*tenant, view.inventory.gpus, card));
            lodgers_.push_back(std::move(lodger));
        }
    }
    // The least work is lost with the smallest. Among equals those on the last cards go first: the
    // scheduler fills the first ones, and with them the new pods do not come back.
    std::ranges::sort(lodgers_, [](const Lodger& a, const Lodger& b) {
        return std::tie(a.size, b.node, b.cards, a.tenant->uid) <
               std::tie(b.size, a.node, a.cards, b.tenant->uid);
    });
    for (std::size_t i = 0; i < lodgers_.size(); ++i) {
        for (const std::size_t card : lodgers_[i].cards)
            rooms_[lodgers_[i].node].lodgers[card].push_back(i);
    }
}

HostAsk Layout::host_left(std::size_t node) const {
    const NodeRoom& room = rooms_[node];
    const HostAsk& has = room.view->inventory.host;
    return {has.cpu_milli - room.used.cpu_milli, has.memory - room.used.memory};
}

std::vector<char> Layout::barred_nodes(const Barred& barred) const {
    std::vector<char> out;
    if (!barred) return out;
    out.reserve(nodes());
    for (const NodeRoom& room : rooms_)
        out.push_back(barred->contains(room.view->inventory.name) ? 1 : 0);
    return out;
}

std::size_t Layout::kind_of(const MovablePod& pod) {
    // A rater looks at the CPU that a pod asks for, and not at the memory of the host.
    const auto is_alike = [&](const Kind& kind) {
        const MovablePod& of = *kind.one;
        return of.rater == pod.rater && of.ask.host.cpu_milli == pod.ask.host.cpu_milli &&
               of.barred == pod.barred && of.ask.request == pod.ask.request &&
               (!has_nominees_ || of.ask.priority == pod.ask.priority);
    };
    const auto known = std::ranges::find_if(kinds_, is_alike);
    if (known != kinds_.end()) return static_cast<std::size_t>(known - kinds_.begin());
    kinds_.push_back({.one = &pod});
    return kinds_.size() - 1;
}

Room Layout::room() const {
    Room out;
    for (const NodeRoom& node : rooms_) {
        if (!node.open) continue;
        for (const Card& card : left(node)) {
            out.largest = std::max(out.largest, card.free());
            if (card.usable && card.holders == 0 && card.held == Bytes{}) ++out.free_cards;
        }
    }
    return out;
}

std::size_t Layout::usable_cards() const {
    std::size_t count = 0;
    for (const NodeRoom& node : rooms_) {
        if (!node.open) continue;
        count += static_cast<std::size_t>(
            std::ranges::count_if(node.now.cards, [](const Card& card) { return card.usable; }));
    }
    return count;
}

bool Layout::fits(Placer& placer, const HostAsk& host, std::size_t node) const {
    const NodeView& now = rooms_[node].now;
    return is_open(node) && has_host_room(now.inventory, host_left(node), host) &&
           try_left(placer, now, asker_) != nullptr;
}

bool Layout::could_fit(Placer& placer, const HostAsk& host, std::size_t node) const {
    const NodeView& view = *rooms_[node].view;
    std::vector<Card> cards = view.cards;
    HostAsk left{view.load.cpu_milli, mebibytes(view.load.memory_mib)};
    for (std::size_t card = 0; card < cards.size(); ++card) {
        for (const std::size_t i : rooms_[node].lodgers[card]) {
            const Lodger& lodger = lodgers_[i];
            if (lodger.cards.front() != card) continue;  // once, whatever number of them it is on
            count_holds(*lodger.tenant, view.inventory.gpus, cards, -1);
            const HostAsk& its = lodger.pod->ask.host;
            left = {left.cpu_milli + its.cpu_milli, left.memory + its.memory};
        }
    }
    const RoomLeft room(std::move(cards));
    return has_host_room(view.inventory, left, host) &&
           placer.try_node(room.offer(view)) != nullptr;
}

std::optional<Place> Layout::place(std::size_t lodger) {
    Lodger& of = lodgers_[lodger];
    const Replacement made = of.pod->made;
    auto found = made == Replacement::once_gone ? place_once_gone(lodger) : best_place(of);
    if (!found || found->touches(of)) return std::nullopt;
    if (made == Replacement::unknown) {
        const auto later = place_once_gone(lodger);
        if (!later || !later->is_same(*found)) return std::nullopt;
    }
    return found;
}

std::optional<Place> Layout::place_once_gone(std::size_t lodger) {
    leave(lodger);
    auto found = best_place(lodgers_[lodger]);
    undo_leave(lodger);
    return found;
}

std::optional<Place> Layout::best_place(Lodger& lodger) {
    const MovablePod& pod = *lodger.pod;
    if (!lodger.kind) lodger.kind = kind_of(pod);
    const auto best = cheapest_node(pod, prices_of(kinds_[*lodger.kind]).nodes);
    if (!best) return std::nullopt;
    auto cards = given_cards(rooms_[*best].now, pod.ask, successor_of(pod), pod.rater.get());
    return Place{*best, *std::move(cards)};
}

// What the host has no memory for is passed over: rarely any.
std::optional<std::size_t> Layout::cheapest_node(const MovablePod& pod, PriceList& prices) const {
    std::vector<std::pair<std::size_t, NodePrice>> passed;
    std::optional<std::size_t> best;
    while (!best && prices.best() != PriceList::kNone) {
        const std::size_t node = prices.first_best();
        if (has_host_room(rooms_[node].now.inventory, host_left(node), pod.ask.host)) {
            best = node;
        } else {
            passed.emplace_back(node, prices.best());
            prices.set(node, PriceList::kNone);
        }
    }
    for (const auto& [node, price] : passed)
        prices.set(node, price);
    return best;
}

Layout::Prices& Layout::prices_of(Kind& kind) {
    const MovablePod& pod = *kind.one;
    Placer placer(pod.ask.request);
    if (!kind.prices) {
        if (priced_kinds() >= most_kinds_) forget_one_kind();
        kind.prices = no_prices(pod);
        for (std::size_t node = 0; node < nodes(); ++node)
            look_at(*kind.prices, pod, node, placer);
    }
    Prices& prices = *kind.prices;
    for (; prices.followed < changes_.size(); ++prices.followed)
        look_at(prices, pod, changes_[prices.followed], placer);
    return prices;
}

Layout::Prices Layout::no_prices(const MovablePod& pod) const {
    return {.nodes = PriceList(nodes()),
            .barred = barred_nodes(pod.barred),
            .versions = std::vector<std::uint64_t>(nodes()),
            .followed = changes_.size()};
}

std::size_t Layout::priced_kinds() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(kinds_, [](const Kind& of) { return of.prices.has_value(); }));
}

// The first: of kinds that are asked for round and round, those that come soonest are kept so.
void Layout::forget_one_kind() {
    std::ranges::find_if(kinds_, [](const Kind& of) {
        return of.prices.has_value();
    })->prices.reset();
}

void Layout::look_at(Prices& prices, const MovablePod& pod, std::size_t node, Placer& placer) {
    if (prices.versions[node] == rooms_[node].version) return;
    prices.versions[node] = rooms_[node].version;
    const bool is_barred = !prices.barred.empty() && prices.barred[node] != 0;
    if (!is_barred) ++nodes_priced_;
    prices.nodes.set(
        node, is_barred ? PriceList::kNone : price(pod, node, placer).value_or(PriceList::kNone));
}

std::optional<NodePrice> Layout::price(const MovablePod& pod, std::size_t node,
                                       Placer& placer) const {
    const NodeView& now = rooms_[node].now;
    const HostAsk cpu{.cpu_milli = pod.ask.host.cpu_milli};
    if (!is_open(node) || !has_host_room(now.inventory, host_left(node), cpu)) return std::nullopt;
    const Fit* fit = try_left(placer, now, successor_of(pod));
    if (fit == nullptr) return std::nullopt;
    // Nominees decide where it fits, and not which node is the better one (node_choice.cpp).
    if (pod.rater != nullptr)
        return price_of_rating(pod.rater->rate_room(now, now.offer(), pod.ask), fit->price, node);
    return price_of_fit(fit->price, std::accumulate(now.free.begin(), now.free.end(), Bytes{}));
}

void Layout::leave(std::size_t lodger) {
    Lodger& of = lodgers_[lodger];
    of.moved = true;
    remove(of.node, *of.tenant, of.pod->ask.host, As::new_state);
}

void Layout::undo_leave(std::size_t lodger) {
    Lodger& of = lodgers_[lodger];
    of.moved = false;
    add(of.node, of.tenant, of.pod->ask.host, As::undone);
}

void Layout::enter(std::size_t lodger, const Place& place) {
    const MovablePod& pod = *lodgers_[lodger].pod;
    const NodeInventory& node = view(place.node).inventory;
    Tenant made{.uid = pod.ask.uid, .name = pod.ask.name};
    made.allocation.containers = containers_of(pod.ask.request, place.fit, node.gpus, node.unit);
    made.holds = holds(made.allocation.containers);
    made.groups = rules_of(pod.ask.request).groups();
    add(place.node, std::make_shared<const Tenant>(std::move(made)), pod.ask.host, As::new_state);
}

void Layout::undo_enter(std::size_t lodger, const Place& place) {
    const MovablePod& pod = *lodgers_[lodger].pod;
    const auto& tenants = rooms_[place.node].now.tenants;
    const TenantPtr made = *std::ranges::find(tenants, pod.ask.uid, &Tenant::uid);
    remove(place.node, *made, pod.ask.host, As::undone);
}

void Layout::remove(std::size_t node, const Tenant& tenant, const HostAsk& host, As as) {
    NodeRoom& room = rooms_[node];
    count_holds(tenant, room.view->inventory.gpus, room.now.cards, -1);
    std::erase_if(room.now.tenants, [&](const TenantPtr& of) { return of->uid == tenant.uid; });
    room.used = {room.used.cpu_milli - host.cpu_milli, room.used.memory - host.memory};
    refresh(node);
    note_change(node, as);
}

void Layout::add(std::size_t node, TenantPtr tenant, const HostAsk& host, As as) {
    NodeRoom& room = rooms_[node];
    count_holds(*tenant, room.view->inventory.gpus, room.now.cards, 1);
    room.now.tenants.push_back(std::move(tenant));
    room.used = {room.used.cpu_milli + host.cpu_milli, room.used.memory + host.memory};
    refresh(node);
    note_change(node, as);
}

void Layout::refresh(std::size_t node) {
    NodeRoom& room = rooms_[node];
    room.now.free = free_of(room.now.cards);
    if (!room.now.nominees.empty()) room.left = cards_left(room.now, asker_);
    room.now.load = load_of(room.now, room.view->load.model, room.used);
}

// Most of what is tried is undone at once, and what was priced before is true again.
void Layout::note_change(std::size_t node, As as) {
    NodeRoom& room = rooms_[node];
    changes_.push_back(static_cast<std::uint32_t>(node));
    if (as == As::undone) {
        room.version = room.versions_before.back();
        room.versions_before.pop_back();
        return;
    }
    room.versions_before.push_back(room.version);
    room.version = ++versions_;
}

std::int64_t Layout::cost(const ContainerRequest& container, std::size_t node,
                          std::size_t at) const {
    const NodeRoom& room = rooms_[node];
    const Card& card = room.now.cards[at];
    if (!room.open || !card.usable) return kNever;
    const bool whole = container.gpu.memory.kind == MemoryAsk::Kind::whole_card;
    const Bytes ask = bytes_of(container.gpu.memory, room.view->inventory.unit, card.capacity);
    const auto fits_on = [&](const Card& of) {
        return ask <= of.free() && (of.cores_held + container.gpu.cores).value <= 100 &&
               !(whole && of.holders > 0);
    };
    if (fits_on(left(room)[at])) return 0;
    if (fits_on(card)) return kLeastPart;
    const Bytes lack = ask - card.free();
    const int cores_lack = (card.cores_held + container.gpu.cores).value - 100;
    std::vector<std::int64_t> memory;
    std::vector<int> cores;
    std::int64_t all = 0;
    std::size_t widest = 1;
    for (const std::size_t i : room.lodgers[at]) {
        const Lodger& lodger = lodgers_[i];
        if (lodger.moved) continue;
        const auto which = std::ranges::find(lodger.cards, at) - lodger.cards.begin();
        const auto& [held, held_cores] = lodger.held[static_cast<std::size_t>(which)];
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

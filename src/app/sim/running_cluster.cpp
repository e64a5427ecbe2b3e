#include "app/sim/running_cluster.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "app/sim/fleet_rater.hpp"
#include "base/check.hpp"
#include "domain/cluster/islands.hpp"

namespace tessera {
namespace {

constexpr Bytes kCard = mebibytes(kMilliPerCard);

// A fraction of what `tessera defrag` may try: it is asked thousands of times here.
constexpr defrag::Effort kEffort{.steps = 3'000, .steps_per_length = 1'000, .prices = 300'000};

NodeName name_of(std::size_t node) {
    return NodeName(std::to_string(node));
}

std::size_t number_of(const std::string& text) {
    std::size_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    TESSERA_CHECK(read.ec == std::errc(), "a plan names only what it was told of");
    return number;
}

Placed place_of(const NodeName& node, const std::vector<int>& cards) {
    Placed place{.node = static_cast<std::int32_t>(number_of(node.str()))};
    for (const int card : cards)
        place.cards |= card_bit(card);
    return place;
}

MemoryAsk memory_of(const Task& task) {
    if (task.milli == kMilliPerCard) return {};
    return {MemoryAsk::Kind::bytes, mebibytes(task.milli).count};
}

NodeView empty_view(std::size_t node, const NodeShape& shape) {
    NodeView view{.inventory = {.name = name_of(node),
                                .host = {shape.cpu_milli, mebibytes(shape.memory_mib)}}};
    for (int card = 0; card < shape.cards; ++card) {
        view.inventory.gpus.push_back(
            {.uuid = uuid_of_index(card), .index = card, .memory = kCard});
    }
    view.cards = empty_cards(view.inventory.gpus);
    view.islands = islands_of(view.inventory.gpus);
    return view;
}

TenantPtr tenant_of(PodUid uid, const Task& task, CardSet cards) {
    Tenant tenant{.uid = std::move(uid)};
    ContainerAllocation given;
    for (int card = 0; card < kMaxCards; ++card) {
        if ((cards & card_bit(card)) == 0) continue;
        given.gpus.push_back({.uuid = uuid_of_index(card),
                              .index = card,
                              .memory = mebibytes(task.milli),
                              .whole = task.milli == kMilliPerCard});
    }
    tenant.allocation.containers.push_back(std::move(given));
    tenant.holds = holds(tenant.allocation.containers);
    return std::make_shared<const Tenant>(std::move(tenant));
}

}  // namespace

RunningCluster::RunningCluster(std::span<const NodeShape> nodes, FleetIndex& index,
                               FleetPolicy& policy)
    : index_(&index), policy_(&policy), fleet_(nodes) {
    nodes_.reserve(nodes.size());
    for (const NodeShape& shape : nodes)
        nodes_.push_back({.guests = {}, .empty = empty_view(nodes_.size(), shape), .movable = {}});
}

void RunningCluster::placed(std::size_t number, const Task& task, const Placed& place,
                            bool movable) {
    const auto at = static_cast<std::size_t>(place.node);
    fleet_.place(at, task, place.cards);
    nodes_[at].view = nullptr;
    if (task.count > 0) nodes_[at].guests.push_back({number, task, place.cards, movable});
}

void RunningCluster::left(std::size_t number, const Task& task, const Placed& place) {
    const auto at = static_cast<std::size_t>(place.node);
    fleet_.release(at, task, place.cards);
    Node& node = nodes_[at];
    node.view = nullptr;
    if (task.count == 0) return;
    const auto guest = std::ranges::find_if(node.guests, [&](const Guest& of) {
        return of.number == number && of.cards == place.cards;
    });
    TESSERA_CHECK(guest != node.guests.end(), "only who was placed leaves");
    node.guests.erase(guest);
}

PodAsk RunningCluster::ask_of(const Task& task, PodUid uid) const {
    PodAsk ask{.uid = std::move(uid)};
    ask.request.push_back({.gpu = {.gpus = task.count, .memory = memory_of(task)}});
    ask.host = {task.cpu_milli, mebibytes(task.memory_mib)};
    return ask;
}

const RunningCluster::Admitted& RunningCluster::admitted(ModelSet models) {
    const auto [at, is_new] = admitted_.try_emplace(models);
    if (!is_new) return at->second;
    at->second.rater = std::make_shared<const FleetRater>(*index_, *policy_, models);
    auto barred = std::make_shared<std::set<NodeName>>();
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if ((models & model_bit(fleet_.load(node).model)) == 0) barred->insert(name_of(node));
    }
    if (!barred->empty()) at->second.barred = std::move(barred);
    return at->second;
}

defrag::Barred RunningCluster::barred(const Seekers& seekers) {
    const defrag::Barred& by_model = admitted(seekers.task.models).barred;
    if (seekers.without.empty()) return by_model;
    std::set<NodeName> all = by_model ? *by_model : std::set<NodeName>();
    for (const std::uint32_t node : seekers.without)
        all.insert(name_of(node));
    return std::make_shared<const std::set<NodeName>>(std::move(all));
}

void RunningCluster::look_at(std::size_t at) {
    Node& node = nodes_[at];
    NodeView view = node.empty;
    node.movable.clear();
    for (const Guest& guest : node.guests) {
        const std::string number = std::to_string(guest.number);
        PodUid uid(guest.movable ? number : "stays-" + number);
        view.tenants.push_back(tenant_of(uid, guest.task, guest.cards));
        count_holds(*view.tenants.back(), view.inventory.gpus, view.cards, 1);
        if (!guest.movable) continue;
        const Admitted& of = admitted(guest.task.models);
        node.movable.push_back(
            {.ask = ask_of(guest.task, std::move(uid)), .barred = of.barred, .rater = of.rater});
    }
    view.free = free_of(view.cards);
    view.load = fleet_.load(at);
    node.view = std::make_shared<const NodeView>(std::move(view));
}

const defrag::Cluster& RunningCluster::cluster() {
    cluster_.nodes.clear();
    cluster_.movable.clear();
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        Node& node = nodes_[at];
        if (node.view == nullptr) look_at(at);
        cluster_.nodes.push_back(node.view);
        cluster_.movable.insert(cluster_.movable.end(), node.movable.begin(), node.movable.end());
    }
    return cluster_;
}

std::optional<std::vector<TaskMove>> RunningCluster::plan(const Seekers& seekers,
                                                          std::size_t most) {
    const defrag::Goal goal =
        defrag::RoomFor{ask_of(seekers.task, PodUid("seeker")), barred(seekers)};
    const auto found = defrag::make_plan(cluster(), goal, kEffort);
    const auto* plan = std::get_if<defrag::Plan>(&found);
    if (plan == nullptr || plan->moves.size() > most) return std::nullopt;
    std::vector<TaskMove> moves;
    moves.reserve(plan->moves.size());
    for (const defrag::Move& move : plan->moves) {
        moves.push_back({number_of(move.uid.str()), place_of(move.node, move.cards),
                         place_of(move.to, move.to_cards)});
    }
    return moves;
}

void RunningCluster::make(const TaskMove& move) {
    const auto& guests = nodes_[static_cast<std::size_t>(move.from.node)].guests;
    const auto guest = std::ranges::find_if(
        guests, [&](const Guest& of) { return of.number == move.task && of.movable; });
    TESSERA_CHECK(guest != guests.end(), "a plan moves who is there");
    const Task task = guest->task;
    placed(move.task, task, move.to, true);
    left(move.task, task, move.from);
}

std::optional<Placed> RunningCluster::best_place(const Seekers& seekers) {
    std::optional<std::size_t> best;
    std::int32_t highest = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const bool is_barred = std::ranges::find(seekers.without, node) != seekers.without.end();
        if (is_barred || !can_take(fleet_.load(node), seekers.task)) continue;
        const std::int32_t score = index_->score_of(fleet_.load(node), seekers.task);
        if (best && score <= highest) continue;
        best = node;
        highest = score;
    }
    if (!best) return std::nullopt;
    return Placed{static_cast<std::int32_t>(*best),
                  policy_->rate(fleet_.load(*best), seekers.task, 0).cards};
}

std::optional<std::vector<std::vector<TaskMove>>> RunningCluster::moves_for(const Seekers& seekers,
                                                                            std::size_t most) {
    if (policy_->tie() == Tie::any) return std::nullopt;
    std::vector<std::vector<TaskMove>> all;
    auto first = plan(seekers, most);
    if (!first) return std::nullopt;
    all.push_back(*std::move(first));
    if (seekers.count == 1) return all;
    RunningCluster tried = *this;
    while (std::ssize(all) < seekers.count) {
        for (const TaskMove& move : all.back())
            tried.make(move);
        const auto place = tried.best_place(seekers);
        if (!place) return std::nullopt;
        constexpr std::size_t kNobody = 0;  // it stays until the copy goes
        tried.placed(kNobody, seekers.task, *place, false);
        auto next = tried.plan(seekers, most);
        if (!next) return std::nullopt;
        all.push_back(*std::move(next));
    }
    return all;
}

}  // namespace tessera

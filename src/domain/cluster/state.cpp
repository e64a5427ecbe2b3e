#include "domain/cluster/state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "domain/cluster/islands.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/given_cards.hpp"
#include "domain/placement/misfit.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera {
namespace {

// The card that a share is on; null when the node does not have it.
Card* card_of(NodeView& node, const GpuUuid& uuid) {
    const std::vector<Gpu>& gpus = node.inventory.gpus;
    const Gpu* gpu = find_gpu(gpus, uuid);
    return gpu == nullptr ? nullptr : &node.cards[static_cast<std::size_t>(gpu - gpus.data())];
}

// Who is not known yet may be gpushare's plugin: then its pods hold their cards.
InventorySource served_by(const NodeInventory& inventory, bool known) {
    return known ? inventory.source : InventorySource::legacy;
}

// A text that makes no sense makes no group: the pod is where it is.
CardRules rules_of(const PodFacts& pod) {
    const CardRuleTexts& texts = pod.card_rules;
    auto rules = parse_card_rules(texts, pod.name.space);
    // It is where it is; whom it keeps away counts, whatever else it says.
    if (!rules) {
        rules =
            parse_card_rules({.apart = texts.apart, .together = texts.together}, pod.name.space);
    }
    return rules ? *std::move(rules) : CardRules{};
}

// Of a node's tenants. The names are the tenant's own: the result lives as long as it does.
auto order_of(const TenantPtr& tenant) {
    return std::tie(tenant->name, tenant->uid);
}

}  // namespace

void ClusterState::set_node(NodeInventory inventory) {
    const NodeName name = inventory.name;
    auto [at, is_new] = nodes_.try_emplace(name);
    names_changed_ |= is_new || !at->second.known;
    if (at->second.known && at->second.inventory == inventory) return;
    at->second.inventory = std::move(inventory);
    at->second.known = true;
    const std::vector<Gpu>& gpus = at->second.inventory.gpus;
    if (!gpus.empty()) at->second.model = models_.of(gpus.front().model);
    at->second.islands = islands_of(gpus);
    judge_again(at->second);
    refresh(name);
}

// What these pods hold depends on the node's cards, and on who serves them.
void ClusterState::judge_again(const NodeState& node) {
    std::vector<PodFacts> pods;
    for (const TenantPtr& tenant : node.tenants) {
        const auto legacy = legacy_pods_.find(tenant->uid);
        if (legacy != legacy_pods_.end()) pods.push_back(legacy->second);
    }
    for (const auto& [uid, puzzle] : node.puzzles)
        pods.push_back(puzzle.pod);
    for (const PodFacts& pod : pods)
        take_bound(pod);
}

void ClusterState::remove_node(const NodeName& name) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return;
    names_changed_ = true;
    // Its pods may still be listed for a while; if the node comes back they hold their cards again.
    at->second.known = false;
    forget_if_unused(name);
}

void ClusterState::forget_if_unused(const NodeName& name) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end() || at->second.known) return;
    const NodeState& node = at->second;
    if (node.tenants.empty() && node.puzzles.empty() && node.nominees.empty()) nodes_.erase(at);
}

bool ClusterState::set_pod(const PodFacts& pod) {
    if (pod.finished) {
        remove_pod(pod.uid);
        return true;
    }
    note_wish(pod);
    note_slips(pod);
    note_gang(pod);
    if (!pod.node.empty()) note_host(pod.uid, pod.node, pod.host);
    const auto held = tenants_.find(pod.uid);
    if (held != tenants_.end() && held->second->stage == Stage::seen) {
        update_seen(*held->second, pod);
        if (const auto legacy = legacy_pods_.find(pod.uid); legacy != legacy_pods_.end()) {
            legacy->second.started |= pod.started;
            return legacy->second.legacy == pod.legacy;
        }
        return pod.allocation && *pod.allocation == held->second->allocation;
    }
    if (!pod.node.empty()) {
        take_bound(pod);
    } else if (held == tenants_.end()) {
        set_pending(pod);
    } else {  // its Binding is under way
        const auto before = set_aside_.extract(pod.uid);
        auto now = read_pending(pod, before ? &before.mapped() : nullptr);
        if (now) set_aside_.emplace(pod.uid, *std::move(now));
    }
    return true;
}

// Nothing for a pod that does not wait, or not for us.
std::optional<PendingPod> ClusterState::read_pending(const PodFacts& pod,
                                                     const PendingPod* before) {
    if (pod.terminating || pod.gated) return std::nullopt;  // kube-scheduler asks for none of them
    auto ask = ask_of(pod);
    if (!ask) return PendingPod{.ask = fail(ask.error())};
    if (ask->request.empty()) return std::nullopt;
    PendingPod now{.ask = std::make_shared<const PodAsk>(*std::move(ask)),
                   .nominated = pod.nominated};
    if (before == nullptr) return now;
    const bool is_same = pod.nominated == before->nominated;
    if (is_same || pod.nominated.empty() || pod.nominated == before->promised) {
        now.promised = before->promised;
        now.victims = before->victims;
    }
    if (is_same) now.given_up = before->given_up;
    if (now.kept_on() == before->kept_on()) now.kept_turn = before->kept_turn;
    return now;
}

void ClusterState::set_pending(const PodFacts& pod) {
    const auto before = end_pending(pod.uid);
    auto now = read_pending(pod, before ? &*before : nullptr);
    if (!now) return;
    if (!before && now->ask) note_arrival(pod.created, **now->ask);
    add_pending(pod.uid, *std::move(now));
}

void ClusterState::add_pending(const PodUid& uid, PendingPod pod) {
    const NodeName node = pod.kept_on();
    if (node.empty()) {
        pod.kept_turn = 0;
    } else if (pod.kept_turn == 0) {
        pod.kept_turn = ++kept_turns_;
    }
    const PendingPod& added = pending_.insert_or_assign(uid, std::move(pod)).first->second;
    if (node.empty()) return;
    const auto order = [this](const PodAskPtr& nominee) {
        return std::pair(-std::int64_t{nominee->priority}, pending_.at(nominee->uid).kept_turn);
    };
    std::vector<PodAskPtr>& nominees = nodes_[node].nominees;
    nominees.insert(std::ranges::upper_bound(nominees, order(*added.ask), {}, order), *added.ask);
    refresh(node);
}

// What it was; nothing where it was not pending.
std::optional<PendingPod> ClusterState::end_pending(const PodUid& uid) {
    const auto ended = pending_.extract(uid);
    if (!ended) return std::nullopt;
    PendingPod was = std::move(ended.mapped());
    const NodeName kept_on = was.kept_on();
    if (kept_on.empty()) return was;
    if (const auto node = nodes_.find(kept_on); node != nodes_.end()) {
        std::erase_if(node->second.nominees,
                      [&](const PodAskPtr& nominee) { return nominee->uid == uid; });
        forget_if_unused(kept_on);
    }
    refresh(kept_on);
    return was;
}

void ClusterState::take_bound(const PodFacts& pod) {
    const bool is_new =
        !end_pending(pod.uid) && !tenants_.contains(pod.uid) && !blocked_by_.contains(pod.uid);
    unblock(pod.uid);
    if (is_new) {
        if (const auto ask = ask_of(pod); ask && !ask->request.empty())
            note_arrival(pod.created, *ask);
    }
    const auto hold_seen = [&](Allocation allocation) {
        auto held = holds(allocation.containers);
        const CardRules rules = rules_of(pod);
        hold({.uid = pod.uid,
              .name = pod.name,
              .stage = Stage::seen,
              .priority = pod.priority,
              .terminating = pod.terminating,
              .allocation = std::move(allocation),
              .holds = std::move(held),
              .groups = rules.groups(),
              .together = rules.together});
    };
    if (!asks_for_gpus(pod)) return drop(pod.uid);
    if (const Allocation* own = own_allocation(pod)) {
        hold_seen(*own);
    } else if (pod.allocation && !*pod.allocation &&
               pod.allocation->error().code == Code::unsupported) {
        block({.pod = pod,
               .why = fmt::format("cannot read what pod {} holds: {}", pod.name.str(),
                                  pod.allocation->error().text),
               .unnamed = "cannot read what a pod of another namespace holds on this node; an "
                          "administrator finds it with: tessera doctor"});
    } else if (is_gpushares(pod, served_by(nodes_[pod.node].inventory, nodes_[pod.node].known))) {
        hold_seen(from_legacy(pod, nodes_[pod.node]));
        legacy_pods_.insert_or_assign(pod.uid, pod);
    } else if (pod.started) {
        const bool broken = pod.allocation && !*pod.allocation;
        block({.pod = pod,
               .why = fmt::format("pod {} runs with a GPU and nobody knows which: its annotation "
                                  "tessera.dev/allocation was changed or removed ({}); delete the "
                                  "pod",
                                  pod.name.str(),
                                  broken ? pod.allocation->error().text : "it is not its own"),
               .unnamed = "a pod of another namespace runs with a GPU of this node and nobody "
                          "knows which; an administrator finds it with: tessera doctor",
               .only_with_agent = true});
    } else {
        // Bound, asks for GPUs and was given none: someone else bound it. The agent refuses to
        // start it.
        drop(pod.uid);
    }
}

void ClusterState::remove_pod(const PodUid& uid) {
    end_pending(uid);
    drop(uid);
    unblock(uid);
    forget_host(uid);
    gangs_.remove(uid);
    wishes_.erase(uid);
    slips_.erase(uid);
}

void ClusterState::keep_only_nodes(const std::set<NodeName>& names) {
    std::vector<NodeName> gone;
    for (const auto& [name, node] : nodes_) {
        if (node.known && !names.contains(name)) gone.push_back(name);
    }
    for (const NodeName& name : gone)
        remove_node(name);
}

void ClusterState::keep_only_pods(const std::set<PodUid>& uids) {
    std::vector<PodUid> gone;
    for (const auto& [uid, tenant] : tenants_) {
        if (tenant->stage == Stage::seen && !uids.contains(uid)) gone.push_back(uid);
    }
    for (const auto& [uid, pod] : pending_) {
        if (!uids.contains(uid)) gone.push_back(uid);
    }
    for (const auto& [uid, node] : blocked_by_) {
        if (!uids.contains(uid)) gone.push_back(uid);
    }
    for (const PodUid& uid : host_.others_than(uids)) {
        const auto at = tenants_.find(uid);
        if (at == tenants_.end() || at->second->stage == Stage::seen) gone.push_back(uid);
    }
    for (const PodUid& uid : gangs_.others_than(uids)) {
        if (!tenants_.contains(uid)) gone.push_back(uid);
    }
    const auto is_gone = [&](const auto& of) { return !uids.contains(of.first); };
    std::erase_if(wishes_, is_gone);
    std::erase_if(slips_, is_gone);
    for (const PodUid& uid : gone)
        remove_pod(uid);
    std::erase_if(set_aside_, is_gone);
}

Result<Reservation> ClusterState::reserve(const PodAsk& asked, const NodeName& node_name,
                                          const NodeRater* rater) {
    if (tenants_.contains(asked.uid)) return reserve_again(asked, node_name);
    if (asked.request.empty()) return Reservation{.kind = Reservation::Kind::nothing};
    const auto at = nodes_.find(node_name);
    if (at == nodes_.end() || !at->second.known) {
        return fail(Code::not_found, fmt::format("node \"{}\" not found", node_name.str()));
    }
    NodeView now = build(at->second);
    const Reader reader = Reader::of(asked.name.space);
    if (!now.blocked.empty()) return fail(Code::unavailable, blocked_for(now, reader));
    const PodAsk pod = rules_of(asked.request).together ? view()->joined(asked) : asked;
    const Asker asker{pod.uid, pod.priority};
    const auto cards = given_cards(now, pod, asker, rater);
    if (!cards) {
        if (Placer(pod.request).try_node(now.offer()) != nullptr)
            return fail(Code::unavailable, kept_for(now, asker, reader));
        return fail(Code::unavailable, Explainer(pod.request).explain(now.offer()).reason);
    }
    Allocation allocation{
        pod.uid, node_name, pod.request.front().gpu.dialect,
        containers_of(pod.request, *cards, now.inventory.gpus, now.inventory.unit)};
    auto held = holds(allocation.containers);
    for (const Hold& share : held) {
        const Card* card = card_of(now, share.uuid);
        TESSERA_CHECK(card != nullptr, "a reservation is on cards of the node");
        TESSERA_CHECK(share.memory <= card->free(),
                      "a reservation takes no card over its capacity");
    }
    note_host(pod.uid, node_name, pod.host);
    hold({.uid = pod.uid,
          .name = pod.name,
          .stage = Stage::reserved,
          .attempt = 1,
          .allocation = allocation,
          .holds = std::move(held),
          .groups = rules_of(pod.request).groups(),
          .together = rules_of(pod.request).together});
    return Reservation{.kind = Reservation::Kind::write,
                       .allocation = std::move(allocation),
                       .node = now.inventory,
                       .attempt = {pod.uid, 1}};
}

// The pod holds cards already: kube-scheduler asks once more.
Result<Reservation> ClusterState::reserve_again(const PodAsk& pod, const NodeName& node_name) {
    Tenant tenant = *tenants_.at(pod.uid);
    if (tenant.allocation.node != node_name) {
        return fail(Code::conflict, fmt::format("pod {} holds GPUs on node {} already",
                                                pod.name.str(), tenant.allocation.node.str()));
    }
    if (tenant.stage == Stage::reserved) {
        return fail(Code::conflict,
                    fmt::format("pod {} is being bound by another request", pod.name.str()));
    }
    Reservation again{.kind = Reservation::Kind::done,
                      .allocation = tenant.allocation,
                      .node = nodes_.at(node_name).inventory,
                      .attempt = {}};
    if (tenant.stage == Stage::seen) return again;
    tenant.stage = Stage::reserved;
    tenant.in_doubt = true;
    ++tenant.attempt;
    again.kind = Reservation::Kind::write;
    again.attempt = {pod.uid, tenant.attempt};
    hold(std::move(tenant));
    return again;
}

// The pod's hold while `attempt` is its last one and has not been seen to succeed.
const Tenant* ClusterState::on_attempt(const Attempt& attempt) const {
    const auto at = tenants_.find(attempt.pod);
    if (at == tenants_.end() || at->second->stage == Stage::seen) return nullptr;
    return at->second->attempt == attempt.number ? at->second.get() : nullptr;
}

void ClusterState::confirm(const Attempt& attempt) {
    const Tenant* held = on_attempt(attempt);
    if (held == nullptr || held->stage == Stage::bound) return;
    Tenant tenant = *held;
    tenant.stage = Stage::bound;
    hold(std::move(tenant));
}

void ClusterState::refuse(const Attempt& attempt) {
    const Tenant* held = on_attempt(attempt);
    if (held == nullptr) return;
    if (held->in_doubt) {
        confirm(attempt);
    } else {
        free_again(attempt.pod);
    }
}

void ClusterState::release(const Attempt& attempt) {
    if (on_attempt(attempt) != nullptr) free_again(attempt.pod);
}

void ClusterState::release_unconfirmed() {
    for (const TenantPtr& tenant : unconfirmed())
        free_again(tenant->uid);
    std::vector<PodUid> resizing;
    for (const auto& [uid, tenant] : tenants_) {
        if (tenant->resizing) resizing.push_back(uid);
    }
    for (const PodUid& uid : resizing)
        end_resize(uid);
}

// It waits as before, and what is kept for it still is.
void ClusterState::free_again(const PodUid& uid) {
    auto waits = set_aside_.extract(uid);
    drop(uid);
    forget_host(uid);
    if (waits) add_pending(uid, std::move(waits.mapped()));
}

std::vector<TenantPtr> ClusterState::unconfirmed() const {
    std::vector<TenantPtr> out;
    for (const TenantPtr& tenant : unseen_.all()) {
        if (tenant->stage == Stage::bound) out.push_back(tenant);
    }
    return out;
}

const PendingPod* ClusterState::pending(const PodUid& uid) const {
    const auto at = pending_.find(uid);
    return at == pending_.end() ? nullptr : &at->second;
}

const PendingPod* ClusterState::set_aside(const PodUid& uid) const {
    const auto at = set_aside_.find(uid);
    return at == set_aside_.end() ? nullptr : &at->second;
}

void ClusterState::hold(Tenant tenant) {
    const NodeName node = tenant.allocation.node;
    const auto held = tenants_.find(tenant.uid);
    if (held != tenants_.end()) {
        if (*held->second == tenant) return;
        if (held->second->allocation.node != node) {
            drop(tenant.uid);
        } else {
            std::erase(nodes_[node].tenants, held->second);
        }
    }
    auto waited = end_pending(tenant.uid);
    if (tenant.stage == Stage::seen) {
        set_aside_.erase(tenant.uid);
    } else if (waited) {
        set_aside_.emplace(tenant.uid, *std::move(waited));
    }
    const auto held_now = std::make_shared<const Tenant>(std::move(tenant));
    if (!tenants_.contains(held_now->uid)) arrivals_.placed_milli += milli_of(*held_now);
    std::vector<TenantPtr>& tenants = nodes_[node].tenants;
    tenants.insert(std::ranges::upper_bound(tenants, order_of(held_now), {}, order_of), held_now);
    tenants_[held_now->uid] = held_now;
    set_unseen(held_now);
    refresh(node);
}

void ClusterState::set_unseen(const TenantPtr& tenant) {
    if (tenant->stage != Stage::seen) {
        unseen_.set(tenant);
    } else {
        unseen_.erase(tenant->uid);
    }
}

void ClusterState::drop(const PodUid& uid) {
    const auto at = tenants_.find(uid);
    if (at == tenants_.end()) return;
    const TenantPtr held = at->second;
    const NodeName& name = held->allocation.node;
    arrivals_.released_milli += milli_of(*held);
    tenants_.erase(at);
    unseen_.erase(uid);
    set_aside_.erase(uid);
    legacy_pods_.erase(uid);
    if (const auto node = nodes_.find(name); node != nodes_.end()) {
        std::erase(node->second.tenants, held);
        forget_if_unused(name);
    }
    refresh(name);
}

void ClusterState::block(Puzzle puzzle) {
    const PodFacts pod = puzzle.pod;
    drop(pod.uid);
    nodes_[pod.node].puzzles.insert_or_assign(pod.uid, std::move(puzzle));
    blocked_by_[pod.uid] = pod.node;
    refresh(pod.node);
}

void ClusterState::unblock(const PodUid& uid) {
    const auto at = blocked_by_.find(uid);
    if (at == blocked_by_.end()) return;
    const NodeName name = at->second;
    blocked_by_.erase(at);
    if (const auto node = nodes_.find(name); node != nodes_.end()) {
        node->second.puzzles.erase(uid);
        forget_if_unused(name);
    }
    refresh(name);
}

void ClusterState::refresh(const NodeName& name) {
    dirty_.insert(name);
}

Allocation ClusterState::from_legacy(const PodFacts& pod, const NodeState& node) const {
    Allocation allocation{pod.uid, pod.node, DialectId::aliyun, {}};
    ContainerAllocation given{pod.containers.empty() ? "" : pod.containers.front().name, {}, {}};
    const Bytes unit = bytes_per_unit(node.inventory.unit);
    for (const LegacyAllocation::Share& share : pod.legacy->shares) {
        const auto gpu = std::ranges::find(node.inventory.gpus, share.index, &Gpu::index);
        if (gpu == node.inventory.gpus.end()) continue;
        given.gpus.push_back({gpu->uuid, share.index, {share.units * unit.count}, {}, false});
    }
    allocation.containers.push_back(std::move(given));
    return allocation;
}

// Who ends for a pod that room is promised to is shown so before the API server knows, but for one
// of them.
std::vector<TenantPtr> ClusterState::tenants_of(const NodeState& node, const PodUid& but) const {
    std::vector<TenantPtr> out = node.tenants;
    for (const PodAskPtr& nominee : node.nominees) {
        if (nominee->uid == but) continue;
        for (const PodUid& victim : pending_.at(nominee->uid).victims) {
            const auto at = std::ranges::find(out, victim, &Tenant::uid);
            if (at == out.end()) continue;
            Tenant ending = **at;
            ending.terminating = true;
            *at = std::make_shared<const Tenant>(std::move(ending));
        }
    }
    return out;
}

NodeView ClusterState::build(const NodeState& node, const PodUid& but) const {
    NodeView out{.inventory = node.inventory,
                 .cards = empty_cards(node.inventory.gpus),
                 .free = {},
                 .islands = node.islands,
                 .tenants = tenants_of(node, but),
                 .nominees = node.nominees,
                 .load = {},
                 .blocked = {},
                 .blocked_by = {}};
    for (const TenantPtr& tenant : node.tenants)
        count_holds(*tenant, node.inventory.gpus, out.cards, 1);
    out.free = free_of(out.cards);
    out.load = load_of(out, node.model, host_.of(node.inventory.name));
    if (!node.inventory.fault.empty()) {
        out.blocked = node.inventory.fault;
        return out;
    }
    for (const auto& [pod, puzzle] : node.puzzles) {
        if (puzzle.only_with_agent && node.inventory.source == InventorySource::legacy) continue;
        out.blocked = puzzle.unnamed;
        out.blocked_by = NodeView::BlockedBy{puzzle.pod.name, puzzle.why};
        break;
    }
    return out;
}

// False when the views' builder cannot take the changed nodes alone.
bool ClusterState::replace_dirty() {
    return std::ranges::all_of(dirty_, [this](const NodeName& name) {
        const auto at = nodes_.find(name);
        return at == nodes_.end() || builder_.replace(build(at->second));
    });
}

std::shared_ptr<const ClusterView> ClusterState::view() {
    if (dirty_.empty() && !names_changed_) return view_;
    if (names_changed_ || !replace_dirty()) {
        std::vector<NodeView> nodes;
        for (const auto& [name, node] : nodes_) {
            if (node.known) nodes.push_back(build(node));
        }
        builder_.set_nodes(std::move(nodes));
    }
    names_changed_ = false;
    dirty_.clear();
    view_ = builder_.build(unseen_);
    return view_;
}

}  // namespace tessera

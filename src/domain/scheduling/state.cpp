#include "domain/scheduling/state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "domain/cluster/topology_groups.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/fit_error.hpp"
#include "domain/placement/given_gpus.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera {
namespace {

// The GPU of a share; null if the node does not have it.
GpuState* gpu_of(NodeInfo& node, const GpuUuid& uuid) {
    const std::vector<Gpu>& gpus = node.inventory.gpus;
    const Gpu* gpu = find_gpu(gpus, uuid);
    return gpu == nullptr ? nullptr : &node.gpus[static_cast<std::size_t>(gpu - gpus.data())];
}

// gpushare's plugin may serve an unknown node, so its pods count by gpushare's annotations.
InventorySource served_by(const NodeInventory& inventory, bool known) {
    return known ? inventory.source : InventorySource::legacy;
}

// An invalid text adds no group. It cannot be an error, because the pod is on its node already.
GpuRules rules_of(const PodInfo& pod) {
    const GpuRuleTexts& texts = pod.gpu_rules;
    auto rules = parse_gpu_rules(texts, pod.name.ns);
    // Its anti-affinity still counts if other annotations are invalid.
    if (!rules) {
        rules = parse_gpu_rules({.anti_affinity = texts.anti_affinity, .affinity = texts.affinity},
                                pod.name.ns);
    }
    return rules ? *std::move(rules) : GpuRules{};
}

// The order of a node's pods. The result refers to `assigned_pod` and must not outlive it.
auto order_of(const AssignedPodPtr& assigned_pod) {
    return std::tie(assigned_pod->name, assigned_pod->uid);
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
    at->second.topology_groups = topology_groups_of(gpus);
    judge_again(at->second);
    refresh(name);
}

// What these pods have depends on the node's GPUs and on the plugin that serves them.
void ClusterState::judge_again(const NodeState& node) {
    std::vector<PodInfo> pods;
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        const auto legacy = legacy_pods_.find(assigned_pod->uid);
        if (legacy != legacy_pods_.end()) pods.push_back(legacy->second);
    }
    for (const auto& [uid, unattributed] : node.unattributed)
        pods.push_back(unattributed.pod);
    for (const PodInfo& pod : pods)
        take_bound(pod);
}

void ClusterState::remove_node(const NodeName& name) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return;
    names_changed_ = true;
    // Its pods may still be listed for a while. If the node comes back, they have their GPUs again.
    at->second.known = false;
    forget_if_unused(name);
}

void ClusterState::forget_if_unused(const NodeName& name) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end() || at->second.known) return;
    const NodeState& node = at->second;
    if (node.assigned_pods.empty() && node.unattributed.empty() && node.nominees.empty())
        nodes_.erase(at);
}

bool ClusterState::set_pod(const PodInfo& pod) {
    if (pod.finished) {
        remove_pod(pod.uid);
        return true;
    }
    note_resize_request(pod);
    note_unknown_annotations(pod);
    note_gang(pod);
    if (!pod.node.empty()) note_host(pod.uid, pod.node, pod.host);
    const auto assigned = assigned_pods_.find(pod.uid);
    if (assigned != assigned_pods_.end() && assigned->second->stage == Stage::observed) {
        update_seen(*assigned->second, pod);
        if (const auto legacy = legacy_pods_.find(pod.uid); legacy != legacy_pods_.end()) {
            legacy->second.started |= pod.started;
            return legacy->second.legacy == pod.legacy;
        }
        return pod.allocation && *pod.allocation == assigned->second->allocation;
    }
    if (!pod.node.empty()) {
        take_bound(pod);
    } else if (assigned == assigned_pods_.end()) {
        set_pending(pod);
    } else {  // its Binding is being written
        const auto before = being_bound_.extract(pod.uid);
        auto now = read_pending(pod, before ? &before.mapped() : nullptr);
        if (now) being_bound_.emplace(pod.uid, *std::move(now));
    }
    return true;
}

// Nothing if the pod is not pending, or requests no GPU.
std::optional<PendingPod> ClusterState::read_pending(const PodInfo& pod, const PendingPod* before) {
    if (pod.terminating || pod.gated) return std::nullopt;  // kube-scheduler does not schedule them
    auto request = request_of(pod);
    if (!request) return PendingPod{.request = fail(request.error())};
    if (request->containers.empty()) return std::nullopt;
    PendingPod now{.request = std::make_shared<const PodRequest>(*std::move(request)),
                   .scheduling = pod.scheduling,
                   .nominated = pod.nominated,
                   .is_shown_ahead = pod.is_nominated_ahead,
                   .queued_since = pod.created};
    if (before == nullptr) return now;
    now.queued_since = before->queued_since;
    now.queue_number = before->queue_number;
    now.is_offered = before->is_offered;
    const bool is_same =
        pod.nominated == before->nominated && pod.is_nominated_ahead == before->is_shown_ahead;
    // kube-scheduler nominated it, perhaps to the same node: pods may be evicted for it there.
    const bool is_of_others = !pod.nominated.empty() && !pod.is_nominated_ahead &&
                              !before->reserved_node.empty() &&
                              before->reserved_by == ReservedBy::nominator;
    if (is_of_others) return now;
    if (is_same || pod.nominated.empty() || pod.nominated == before->reserved_node) {
        now.reserved_node = before->reserved_node;
        now.reserved_by = before->reserved_by;
        now.victims = before->victims;
    }
    if (is_same) now.given_up = before->given_up;
    if (now.reserved_on() == before->reserved_on())
        now.reservation_order = before->reservation_order;
    return now;
}

void ClusterState::set_pending(const PodInfo& pod) {
    const auto before = end_pending(pod.uid);
    auto now = read_pending(pod, before ? &*before : nullptr);
    if (!now) return;
    if (!before && now->request) note_arrival(pod.created, **now->request);
    add_pending(pod.uid, *std::move(now));
}

void ClusterState::add_pending(const PodUid& uid, PendingPod pod) {
    const NodeName node = pod.reserved_on();
    if (node.empty()) {
        pod.reservation_order = 0;
    } else if (pod.reservation_order == 0) {
        pod.reservation_order = ++reservation_orders_;
    }
    if (pod.queue_number == 0) pod.queue_number = ++queue_numbers_;
    const PendingPod& added = pending_.insert_or_assign(uid, std::move(pod)).first->second;
    if (is_queued(added)) queues_[added.scheduling->scheduler].insert(place_of(added));
    if (node.empty()) return;
    reserved_pods_.insert(uid);
    const auto order = [this](const Nominee& nominee) {
        return std::tuple(-std::int64_t{nominee.pod->priority}, nominee.is_ahead,
                          pending_.at(nominee.pod->uid).reservation_order);
    };
    const Nominee nominee{*added.request, added.is_nominated_ahead()};
    std::vector<Nominee>& nominees = nodes_[node].nominees;
    nominees.insert(std::ranges::upper_bound(nominees, order(nominee), {}, order), nominee);
    refresh(node);
}

// Returns the pod's pending state; nothing if it was not pending.
std::optional<PendingPod> ClusterState::end_pending(const PodUid& uid) {
    const auto ended = pending_.extract(uid);
    if (!ended) return std::nullopt;
    PendingPod was = std::move(ended.mapped());
    if (is_queued(was)) queues_[was.scheduling->scheduler].erase(place_of(was));
    const NodeName reserved_on = was.reserved_on();
    if (reserved_on.empty()) return was;
    reserved_pods_.erase(uid);
    if (const auto node = nodes_.find(reserved_on); node != nodes_.end()) {
        std::erase_if(node->second.nominees,
                      [&](const Nominee& nominee) { return nominee.pod->uid == uid; });
        forget_if_unused(reserved_on);
    }
    refresh(reserved_on);
    return was;
}

void ClusterState::take_bound(const PodInfo& pod) {
    const bool is_new = !end_pending(pod.uid) && !assigned_pods_.contains(pod.uid) &&
                        !blocked_by_.contains(pod.uid);
    unblock(pod.uid);
    if (is_new) {
        if (const auto request = request_of(pod); request && !request->containers.empty())
            note_arrival(pod.created, *request);
    }
    const auto assign_observed = [&](Allocation allocation) {
        auto allocated = allocated_by_gpu(allocation.containers);
        const GpuRules rules = rules_of(pod);
        assign({.uid = pod.uid,
                .name = pod.name,
                .stage = Stage::observed,
                .priority = pod.priority,
                .terminating = pod.terminating,
                .allocation = std::move(allocation),
                .allocated = std::move(allocated),
                .groups = rules.groups(),
                .affinity = rules.affinity});
    };
    if (!asks_for_gpus(pod)) return drop(pod.uid);
    if (const Allocation* own = own_allocation(pod)) {
        assign_observed(*own);
    } else if (pod.allocation && !*pod.allocation &&
               pod.allocation->error().code == Code::unsupported) {
        block({.pod = pod,
               .why = fmt::format("cannot read what pod {} holds: {}", pod.name.str(),
                                  pod.allocation->error().text),
               .unnamed = "cannot read what a pod of another namespace holds on this node; an "
                          "administrator finds it with: tessera doctor"});
    } else if (is_legacy(pod, served_by(nodes_[pod.node].inventory, nodes_[pod.node].known))) {
        assign_observed(from_legacy(pod, nodes_[pod.node]));
        legacy_pods_.insert_or_assign(pod.uid, pod);
    } else if (pod.started) {
        const bool broken = pod.allocation && !*pod.allocation;
        block({.pod = pod,
               .why = fmt::format(
                   "pod {} runs with a GPU, and it is not known which: its annotation "
                   "tessera.dev/allocation was changed or removed ({}); delete the "
                   "pod",
                   pod.name.str(), broken ? pod.allocation->error().text : "it is for another pod"),
               .unnamed = "a pod of another namespace runs with a GPU of this node, and it is "
                          "not known which; an administrator finds it with: tessera doctor",
               .only_with_agent = true});
    } else {
        // It is bound without an allocation, so another program bound it. The agent refuses to
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
    resize_requests_.erase(uid);
    unknown_annotations_.erase(uid);
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
    for (const auto& [uid, assigned_pod] : assigned_pods_) {
        if (assigned_pod->stage == Stage::observed && !uids.contains(uid)) gone.push_back(uid);
    }
    for (const auto& [uid, pod] : pending_) {
        if (!uids.contains(uid)) gone.push_back(uid);
    }
    for (const auto& [uid, node] : blocked_by_) {
        if (!uids.contains(uid)) gone.push_back(uid);
    }
    for (const PodUid& uid : host_.others_than(uids)) {
        const auto at = assigned_pods_.find(uid);
        if (at == assigned_pods_.end() || at->second->stage == Stage::observed) gone.push_back(uid);
    }
    for (const PodUid& uid : gangs_.others_than(uids)) {
        if (!assigned_pods_.contains(uid)) gone.push_back(uid);
    }
    const auto is_gone = [&](const auto& of) { return !uids.contains(of.first); };
    std::erase_if(resize_requests_, is_gone);
    std::erase_if(unknown_annotations_, is_gone);
    for (const PodUid& uid : gone)
        remove_pod(uid);
    std::erase_if(being_bound_, is_gone);
}

Result<Reservation> ClusterState::reserve(const PodRequest& request, const NodeName& node_name,
                                          const NodeScorer* scorer) {
    if (assigned_pods_.contains(request.uid)) return reserve_again(request, node_name);
    if (request.containers.empty()) return Reservation{.kind = Reservation::Kind::nothing};
    const auto at = nodes_.find(node_name);
    if (at == nodes_.end() || !at->second.known) {
        return fail(Code::not_found, fmt::format("node \"{}\" not found", node_name.str()));
    }
    NodeInfo now = build(at->second);
    const Reader reader = Reader::of(request.name.ns);
    if (!now.blocked.empty()) return fail(Code::unavailable, blocked_for(now, reader));
    const PodRequest pod =
        rules_of(request.containers).affinity ? snapshot()->joined(request) : request;
    const PodToPlace this_pod = to_place(pod);
    const auto gpus = given_gpus(now, pod, this_pod, scorer);
    if (!gpus) {
        if (Placer(pod.containers).try_node(now.node_gpus()) != nullptr)
            return fail(Code::unavailable, reserved_for(now, this_pod, reader));
        return fail(Code::unavailable, Explainer(pod.containers).explain(now.node_gpus()).message);
    }
    Allocation allocation{
        pod.uid, node_name, pod.containers.front().gpu.dialect,
        containers_of(pod.containers, *gpus, now.inventory.gpus, now.inventory.unit)};
    auto allocated = allocated_by_gpu(allocation.containers);
    for (const GpuAllocation& share : allocated) {
        const GpuState* gpu = gpu_of(now, share.uuid);
        TESSERA_CHECK(gpu != nullptr, "a reservation is on GPUs of the node");
        TESSERA_CHECK(share.memory <= gpu->free(), "a reservation takes no GPU over its capacity");
    }
    note_host(pod.uid, node_name, pod.host);
    assign({.uid = pod.uid,
            .name = pod.name,
            .stage = Stage::assumed,
            .attempt = 1,
            .allocation = allocation,
            .allocated = std::move(allocated),
            .groups = rules_of(pod.containers).groups(),
            .affinity = rules_of(pod.containers).affinity});
    return Reservation{.kind = Reservation::Kind::write,
                       .allocation = std::move(allocation),
                       .node = now.inventory,
                       .attempt = {pod.uid, 1}};
}

// The pod has GPUs already: kube-scheduler calls again.
Result<Reservation> ClusterState::reserve_again(const PodRequest& pod, const NodeName& node_name) {
    AssignedPod assigned_pod = *assigned_pods_.at(pod.uid);
    if (assigned_pod.allocation.node != node_name) {
        return fail(Code::conflict,
                    fmt::format("pod {} holds GPUs on node {} already", pod.name.str(),
                                assigned_pod.allocation.node.str()));
    }
    if (assigned_pod.stage == Stage::assumed) {
        return fail(Code::conflict,
                    fmt::format("pod {} is being bound by another request", pod.name.str()));
    }
    Reservation again{.kind = Reservation::Kind::done,
                      .allocation = assigned_pod.allocation,
                      .node = nodes_.at(node_name).inventory,
                      .attempt = {}};
    if (assigned_pod.stage == Stage::observed) return again;
    TRY_VOID(check_still_offered(pod.containers, again.allocation, again.node));
    assigned_pod.stage = Stage::assumed;
    assigned_pod.uncertain = true;
    ++assigned_pod.attempt;
    again.kind = Reservation::Kind::write;
    again.attempt = {pod.uid, assigned_pod.attempt};
    assign(std::move(assigned_pod));
    return again;
}

// The pod, if `attempt` is its last one and the watch has not shown that it succeeded; else null.
const AssignedPod* ClusterState::on_attempt(const Attempt& attempt) const {
    const auto at = assigned_pods_.find(attempt.pod);
    if (at == assigned_pods_.end() || at->second->stage == Stage::observed) return nullptr;
    return at->second->attempt == attempt.number ? at->second.get() : nullptr;
}

void ClusterState::confirm(const Attempt& attempt) {
    const AssignedPod* assigned = on_attempt(attempt);
    if (assigned == nullptr || assigned->stage == Stage::bound) return;
    AssignedPod assigned_pod = *assigned;
    assigned_pod.stage = Stage::bound;
    assign(std::move(assigned_pod));
}

void ClusterState::refuse(const Attempt& attempt) {
    const AssignedPod* assigned = on_attempt(attempt);
    if (assigned == nullptr) return;
    if (assigned->uncertain) return confirm(attempt);
    free_again(attempt.pod);
}

void ClusterState::release(const Attempt& attempt) {
    if (on_attempt(attempt) != nullptr) free_again(attempt.pod);
}

void ClusterState::release_unconfirmed() {
    for (const AssignedPodPtr& assigned_pod : unconfirmed())
        free_again(assigned_pod->uid);
    std::vector<PodUid> resizing;
    for (const auto& [uid, assigned_pod] : assigned_pods_) {
        if (assigned_pod->resizing) resizing.push_back(uid);
    }
    for (const PodUid& uid : resizing)
        end_resize(uid);
}

// The pod is pending again, and its reservation is unchanged.
void ClusterState::free_again(const PodUid& uid) {
    auto waits = being_bound_.extract(uid);
    drop(uid);
    forget_host(uid);
    if (!waits) return;
    waits.mapped().is_offered = false;
    add_pending(uid, std::move(waits.mapped()));
}

std::vector<AssignedPodPtr> ClusterState::unconfirmed() const {
    std::vector<AssignedPodPtr> out;
    for (const AssignedPodPtr& assigned_pod : unobserved_.all()) {
        if (assigned_pod->stage == Stage::bound) out.push_back(assigned_pod);
    }
    return out;
}

const PendingPod* ClusterState::pending(const PodUid& uid) const {
    const auto at = pending_.find(uid);
    return at == pending_.end() ? nullptr : &at->second;
}

const PendingPod* ClusterState::being_bound(const PodUid& uid) const {
    const auto at = being_bound_.find(uid);
    return at == being_bound_.end() ? nullptr : &at->second;
}

void ClusterState::assign(AssignedPod assigned_pod) {
    const NodeName node = assigned_pod.allocation.node;
    const auto assigned = assigned_pods_.find(assigned_pod.uid);
    if (assigned != assigned_pods_.end()) {
        if (*assigned->second == assigned_pod) return;
        if (assigned->second->allocation.node != node) {
            drop(assigned_pod.uid);
        } else {
            std::erase(nodes_[node].assigned_pods, assigned->second);
        }
    }
    auto waited = end_pending(assigned_pod.uid);
    if (assigned_pod.stage == Stage::observed) {
        being_bound_.erase(assigned_pod.uid);
    } else if (waited) {
        being_bound_.emplace(assigned_pod.uid, *std::move(waited));
    }
    const auto allocated_now = std::make_shared<const AssignedPod>(std::move(assigned_pod));
    if (!assigned_pods_.contains(allocated_now->uid))
        arrivals_.allocated_milli += milli_of(*allocated_now);
    std::vector<AssignedPodPtr>& assigned_pods = nodes_[node].assigned_pods;
    assigned_pods.insert(
        std::ranges::upper_bound(assigned_pods, order_of(allocated_now), {}, order_of),
        allocated_now);
    assigned_pods_[allocated_now->uid] = allocated_now;
    set_unobserved(allocated_now);
    refresh(node);
}

void ClusterState::set_unobserved(const AssignedPodPtr& assigned_pod) {
    if (assigned_pod->stage != Stage::observed) {
        unobserved_.set(assigned_pod);
    } else {
        unobserved_.erase(assigned_pod->uid);
    }
}

void ClusterState::drop(const PodUid& uid) {
    const auto at = assigned_pods_.find(uid);
    if (at == assigned_pods_.end()) return;
    const AssignedPodPtr assigned = at->second;
    const NodeName& name = assigned->allocation.node;
    arrivals_.released_milli += milli_of(*assigned);
    assigned_pods_.erase(at);
    unobserved_.erase(uid);
    being_bound_.erase(uid);
    legacy_pods_.erase(uid);
    if (const auto node = nodes_.find(name); node != nodes_.end()) {
        std::erase(node->second.assigned_pods, assigned);
        forget_if_unused(name);
    }
    refresh(name);
}

void ClusterState::block(UnattributedPod unattributed) {
    const PodInfo pod = unattributed.pod;
    drop(pod.uid);
    nodes_[pod.node].unattributed.insert_or_assign(pod.uid, std::move(unattributed));
    blocked_by_[pod.uid] = pod.node;
    refresh(pod.node);
}

void ClusterState::unblock(const PodUid& uid) {
    const auto at = blocked_by_.find(uid);
    if (at == blocked_by_.end()) return;
    const NodeName name = at->second;
    blocked_by_.erase(at);
    if (const auto node = nodes_.find(name); node != nodes_.end()) {
        node->second.unattributed.erase(uid);
        forget_if_unused(name);
    }
    refresh(name);
}

void ClusterState::refresh(const NodeName& name) {
    dirty_.insert(name);
}

Allocation ClusterState::from_legacy(const PodInfo& pod, const NodeState& node) const {
    Allocation allocation{pod.uid, pod.node, pod.legacy->dialect, {}};
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

// The victims of reservations count as terminating before the API server shows it, except those of
// the pod `but`.
std::vector<AssignedPodPtr> ClusterState::assigned_pods_of(const NodeState& node,
                                                           const PodUid& but) const {
    std::vector<AssignedPodPtr> out = node.assigned_pods;
    for (const Nominee& nominee : node.nominees) {
        if (nominee.pod->uid == but) continue;
        for (const PodUid& victim : pending_.at(nominee.pod->uid).victims) {
            const auto at = std::ranges::find(out, victim, &AssignedPod::uid);
            if (at == out.end()) continue;
            AssignedPod ending = **at;
            ending.terminating = true;
            *at = std::make_shared<const AssignedPod>(std::move(ending));
        }
    }
    return out;
}

NodeInfo ClusterState::build(const NodeState& node, const PodUid& but) const {
    NodeInfo out{.inventory = node.inventory,
                 .gpus = empty_gpus(node.inventory.gpus),
                 .free = {},
                 .topology_groups = node.topology_groups,
                 .assigned_pods = assigned_pods_of(node, but),
                 .nominees = node.nominees,
                 .load = {},
                 .blocked = {},
                 .blocked_by = {}};
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods)
        count_allocated(*assigned_pod, node.inventory.gpus, out.gpus, 1);
    out.free = free_of(out.gpus);
    out.load = load_of(out, node.model, host_.of(node.inventory.name));
    if (const std::int64_t most = node.inventory.traits->most_pods; most > 0)
        out.free_pods = most - host_.pods_of(node.inventory.name);
    if (!node.inventory.fault.empty()) {
        out.blocked = node.inventory.fault;
        return out;
    }
    for (const auto& [pod, unattributed] : node.unattributed) {
        if (unattributed.only_with_agent && node.inventory.source == InventorySource::legacy)
            continue;
        out.blocked = unattributed.unnamed;
        out.blocked_by = NodeInfo::BlockedBy{unattributed.pod.name, unattributed.why};
        break;
    }
    return out;
}

// False if the snapshot builder cannot update only the changed nodes.
bool ClusterState::replace_dirty() {
    return std::ranges::all_of(dirty_, [this](const NodeName& name) {
        const auto at = nodes_.find(name);
        return at == nodes_.end() || builder_.replace(build(at->second));
    });
}

std::shared_ptr<const Snapshot> ClusterState::snapshot() {
    if (dirty_.empty() && !names_changed_) return snapshot_;
    if (names_changed_ || !replace_dirty()) {
        std::vector<NodeInfo> nodes;
        for (const auto& [name, node] : nodes_) {
            if (node.known) nodes.push_back(build(node));
        }
        builder_.set_nodes(std::move(nodes));
    }
    names_changed_ = false;
    dirty_.clear();
    snapshot_ = builder_.build(unobserved_);
    return snapshot_;
}

}  // namespace tessera

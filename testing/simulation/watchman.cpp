#include "testing/simulation/watchman.hpp"

#include <fmt/format.h>

#include "app/scheduler/node_choice.hpp"

namespace tessera::simulation {

void Watchman::broken(const std::string& text) {
    cluster_.scene.journal.violation(cluster_.scene.loop.now(), text);
}

void Watchman::look() {
    check_reservations();
    check_unguarded();
}

void Watchman::check_reservations() {
    const Time now = cluster_.scene.loop.now();
    std::map<ReservedBy, Time> since;
    for (const auto& controller : cluster_.service.controllers) {
        const auto view = controller->view();
        for (const auto& node : view->nodes()) {
            for (const TenantPtr& tenant : node->tenants) {
                if (tenant->stage == tessera::Stage::seen) continue;
                const ReservedBy key{controller->life(), tenant->uid, tenant->attempt};
                const auto before = reserved_since_.find(key);
                const Time first = before == reserved_since_.end() ? now : before->second;
                since.emplace(key, first);
                if (now - first <= kReservation) continue;
                broken(fmt::format("pod {} ({}) has a reservation on {} that nobody settles",
                                   tenant->name.name, tenant->uid.str(),
                                   node->inventory.name.str()));
            }
        }
    }
    reserved_since_ = std::move(since);
}

void Watchman::check_unguarded() {
    for (const ClusterNode& node : cluster_.nodes) {
        const Agent* agent = node.kubelet->agent.get();
        if (agent == nullptr || !agent->linked()) continue;
        for (const auto& [id, container] : node.machine->containers) {
            if (!container.cards.empty() || container.since >= agent->linked_since()) continue;
            broken(fmt::format("container {} of pod {} goes on without its share", container.name,
                               container.pod.str()));
        }
    }
}

void Watchman::check_waiting() {
    const auto& controllers = cluster_.service.controllers;
    if (controllers.empty()) return;
    const Time now = cluster_.scene.loop.now();
    // The views of all are the same by now, or soon.
    const auto view = controllers.front()->view();
    std::map<PodUid, Time> since;
    for (const auto& [name, pod] : cluster_.server.pods()) {
        const PodFacts& facts = pod->facts;
        if (!facts.node.empty()) continue;
        ExtenderArgs args;
        args.pod = facts;
        for (const ClusterNode& node : cluster_.nodes)
            args.names.emplace_back(node.machine->name.str());
        const auto ask = ask_of(facts);
        if (!ask || choose_nodes(*view, args, *ask, nullptr, 0).fitting.empty()) continue;
        const auto before = fits_since_.find(facts.uid);
        const Time first = before == fits_since_.end() ? now : before->second;
        since.emplace(facts.uid, first);
        if (now - first > kWait) {
            broken(
                fmt::format("pod {} ({}) fits and is not bound", facts.name.name, facts.uid.str()));
        }
    }
    fits_since_ = std::move(since);
}

void Watchman::check_node(const NodeView& node, const Machine& machine) {
    const std::string& name = node.inventory.name.str();
    if (!node.blocked.empty()) broken(fmt::format("{} is blocked: {}", name, node.blocked));
    if (!node.tenants.empty()) {
        broken(
            fmt::format("{} has a tenant that is gone: {}", name, node.tenants.front()->uid.str()));
    }
    if (!node.nominees.empty()) broken(name + " keeps room for a pod that is gone");
    if (node.cards.size() != machine.cards.size()) broken(name + " does not show its cards");
    for (const Card& card : node.cards) {
        if (!card.usable) broken(name + " has a card that did not recover");
        if (card.held != Bytes{} || card.holders != 0 || card.cores_held != Percent{}) {
            broken(name + " has memory that nobody holds and that is not free");
        }
    }
    if (!machine.containers.empty()) broken(name + " still runs a container");
}

void Watchman::check_all_free() {
    const std::size_t replicas = cluster_.scene.election ? 2 : 1;
    if (cluster_.service.controllers.size() != replicas) broken("a controller is missing");
    for (const auto& controller : cluster_.service.controllers)
        check_free(*controller);
}

void Watchman::check_free(Controller& controller) {
    const std::size_t pending = controller.pending_count();
    const auto view = controller.view();
    if (pending != 0) broken(fmt::format("{} pods are pending that are gone", pending));
    if (view->unseen_count() != 0) broken("a pod that is gone has a reservation");
    if (view->nodes().size() != cluster_.nodes.size()) broken("a node is missing");
    for (const ClusterNode& node : cluster_.nodes) {
        const NodeView* found = view->find(node.machine->name.str());
        if (found != nullptr) check_node(*found, *node.machine);
    }
}

}  // namespace tessera::simulation

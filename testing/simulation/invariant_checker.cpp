#include "testing/simulation/invariant_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/scheduler/filter/node_choice.hpp"

namespace tessera::simulation {

void InvariantChecker::broken(const std::string& text) {
    cluster_.scene.journal.violation(cluster_.scene.loop.now(), text);
}

void InvariantChecker::look() {
    check_reservations();
    check_unguarded();
    check_nominees();
}

void InvariantChecker::check_reservations() {
    const Time now = cluster_.scene.loop.now();
    const bool is_silent = now < cluster_.server.silent_until;
    const Time not_counted = is_silent ? now - last_look_ : Time{};
    last_look_ = now;
    std::map<ReservedBy, Time> since;
    for (const auto& controller : cluster_.service.controllers) {
        const auto snapshot = controller->snapshot();
        for (const auto& node : snapshot->nodes()) {
            for (const AssignedPodPtr& assigned_pod : node->assigned_pods) {
                if (assigned_pod->stage == tessera::Stage::observed) continue;
                const ReservedBy key{controller->life(), assigned_pod->uid, assigned_pod->attempt};
                const auto before = reserved_since_.find(key);
                const Time first =
                    before == reserved_since_.end() ? now : before->second + not_counted;
                since.emplace(key, first);
                if (now - first <= kReservation) continue;
                broken(fmt::format("pod {} ({}) is assigned to {} and is not reconciled",
                                   assigned_pod->name.name, assigned_pod->uid.str(),
                                   node->inventory.name.str()));
            }
        }
    }
    reserved_since_ = std::move(since);
}

void InvariantChecker::check_unguarded() {
    for (const ClusterNode& node : cluster_.nodes) {
        const Agent* agent = node.kubelet->agent.get();
        if (agent == nullptr || !agent->linked()) continue;
        for (const auto& [id, container] : node.machine->containers) {
            if (!container.gpus.empty() || container.since >= agent->linked_since()) continue;
            broken(fmt::format("container {} of pod {} keeps running without its share",
                               container.name, container.pod.str()));
        }
    }
}

void InvariantChecker::check_nominees() {
    const Time now = cluster_.scene.loop.now();
    std::map<NomineeKey, Time> since;
    for (const auto& controller : cluster_.service.controllers) {
        if (!cluster_.scene.nominates) continue;
        const auto snapshot = controller->snapshot();
        for (const auto& node : snapshot->nodes()) {
            const NodeName& name = node->inventory.name;
            for (const Nominee& nominee : node->nominees) {
                const PodRequest& pod = *nominee.pod;
                if (!nominee.is_ahead && cluster_.scene.has_faults) continue;
                const NomineeKey key(controller->life(), pod.uid, name, nominee.is_ahead);
                const auto before = nominated_since_.find(key);
                Time first = before == nominated_since_.end() ? now : before->second;
                // A leader looks at all reservations when it begins to lead.
                first = std::max(first, controller->leads_since());
                if (nominee.is_ahead)
                    first = std::max(first, controller->last_offer(pod.uid, name));
                since.emplace(key, first);
                const bool is_over = now - first > (nominee.is_ahead ? kAhead : kReserved);
                if (!is_over || !controller->leads()) continue;
                broken(fmt::format("GPUs of {} stay reserved for pod {} ({})", name.str(),
                                   pod.name.name, pod.uid.str()));
            }
        }
    }
    nominated_since_ = std::move(since);
}

void InvariantChecker::check_waiting() {
    const auto& controllers = cluster_.service.controllers;
    if (controllers.empty()) return;
    const Time now = cluster_.scene.loop.now();
    // The leader's reservations decide.
    const auto leader =
        std::ranges::find_if(controllers, [](const auto& one) { return one->leads(); });
    const auto snapshot = (leader == controllers.end() ? controllers.front() : *leader)->snapshot();
    std::map<PodUid, Time> since;
    for (const auto& [name, pod] : cluster_.server.pods()) {
        const PodInfo& facts = pod->info;
        if (!facts.node.empty()) continue;
        ExtenderArgs args;
        args.pod = facts;
        for (const ClusterNode& node : cluster_.nodes)
            args.names.emplace_back(node.machine->name.str());
        const auto request = request_of(facts);
        if (!request || choose_nodes(*snapshot, args, *request, nullptr, 0).fitting.empty())
            continue;
        const auto before = fits_since_.find(facts.uid);
        const Time first = before == fits_since_.end() ? now : before->second;
        since.emplace(facts.uid, first);
        if (now - first > kWait) {
            broken(
                fmt::format("pod {} ({}) fits but is not bound", facts.name.name, facts.uid.str()));
        }
    }
    fits_since_ = std::move(since);
}

void InvariantChecker::check_node(const NodeInfo& node, const Machine& machine) {
    const std::string& name = node.inventory.name.str();
    if (!node.blocked.empty()) broken(fmt::format("{} is blocked: {}", name, node.blocked));
    if (!node.assigned_pods.empty()) {
        broken(fmt::format("{} has an assigned pod that is gone: {}", name,
                           node.assigned_pods.front()->uid.str()));
    }
    if (!node.nominees.empty()) broken(name + " has a reservation for a pod that is gone");
    if (node.gpus.size() != machine.gpus.size()) broken(name + " does not show its GPUs");
    for (const GpuState& gpu : node.gpus) {
        if (!gpu.usable) broken(name + " has a GPU that did not recover");
        if (gpu.allocated != Bytes{} || gpu.pods != 0 || gpu.allocated_cores != Percent{}) {
            broken(name + " has memory that no pod uses and that is not free");
        }
    }
    if (!machine.containers.empty()) broken(name + " still runs a container");
    if (!machine.mps.gpus().empty()) broken(name + " has a GPU that did not leave MPS mode");
}

void InvariantChecker::check_all_free() {
    const std::size_t replicas = cluster_.scene.election ? 2 : 1;
    if (cluster_.service.controllers.size() != replicas) broken("a controller is missing");
    for (const auto& controller : cluster_.service.controllers)
        check_free(*controller);
}

void InvariantChecker::check_free(Controller& controller) {
    const std::size_t pending = controller.pending_count();
    const auto snapshot = controller.snapshot();
    if (pending != 0) broken(fmt::format("{} pods that are gone are still pending", pending));
    if (snapshot->unobserved_count() != 0) broken("a pod that is gone is still assigned");
    if (snapshot->nodes().size() != cluster_.nodes.size()) broken("a node is missing");
    for (const ClusterNode& node : cluster_.nodes) {
        const NodeInfo* found = snapshot->find(node.machine->name.str());
        if (found != nullptr) check_node(*found, *node.machine);
    }
}

}  // namespace tessera::simulation

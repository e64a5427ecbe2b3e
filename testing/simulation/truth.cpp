#include "testing/simulation/truth.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::simulation {

Truth::Truth(Scene& scene, ApiServer& server) : scene_(scene), server_(server) {
    server.on_pod([this](const Change<PodObject>& change) { take(change); });
}

void Truth::add(Machine& machine) {
    for (const PhysicalCard& card : machine.cards)
        capacity_[card.uuid] = card.memory;
}

void Truth::take(const Change<PodObject>& change) {
    const PodFacts& pod = change.object->facts;
    if (change.deleted || pod.finished) return free(pod.uid);
    const Allocation* own = own_allocation(pod);
    if (own == nullptr || holding_.contains(pod.uid)) return;
    given_.insert_or_assign(pod.uid, *own);
    for (const Hold& hold : holding_[pod.uid] = holds(own->containers)) {
        const Bytes sum = granted_[hold.uuid] += hold.memory;
        if (sum <= capacity_[hold.uuid]) continue;
        scene_.journal.violation(
            scene_.loop.now(),
            fmt::format("card {} of {} is given out with {} once pod {} ({}) is bound",
                        hold.uuid.str(), to_string(capacity_[hold.uuid]), to_string(sum),
                        pod.name.name, pod.uid.str()));
    }
}

void Truth::free(const PodUid& uid) {
    const auto at = holding_.find(uid);
    if (at == holding_.end()) return;
    for (const Hold& hold : at->second)
        granted_[hold.uuid] -= hold.memory;
    holding_.erase(at);
}

void Truth::check_start(const Machine& machine, const Container& container, bool by_agent) {
    ++started_;
    const auto wrong = [&](const std::string& what) {
        scene_.journal.violation(
            scene_.loop.now(),
            fmt::format("container {} of pod {} ({}) on {} {}", container.name,
                        container.pod_name.name, container.pod.str(), machine.name.str(), what));
    };
    if (!by_agent) return;
    const auto given = given_.find(container.pod);
    if (given == given_.end()) return wrong("was completed, and its pod was given no cards");
    const auto& containers = given->second.containers;
    const auto share =
        std::ranges::find(containers, container.name, &ContainerAllocation::container);
    if (share == containers.end()) return wrong("was completed without a share");
    std::map<GpuUuid, Bytes> wanted;
    for (const GpuShare& part : share->gpus)
        wanted[part.uuid] = part.memory;
    if (wanted != container.cards) return wrong("has other cards than its pod was given");
    check_room(machine, container, wrong);
}

void Truth::check_room(const Machine& machine, const Container& container,
                       const std::function<void(const std::string&)>& wrong) {
    const auto is_ghost = [this](const Container& other) {
        return server_.pod(other.pod_name, other.pod) == nullptr;
    };
    if (is_ghost(container)) {
        ++ghosts_started_;
        return;
    }
    for (const auto& [uuid, memory] : container.cards) {
        Bytes sum = memory;
        bool ghost = false;
        for (const auto& [id, other] : machine.containers) {
            const auto part = other.cards.find(uuid);
            if (part == other.cards.end()) continue;
            if (is_ghost(other)) {
                ghost = true;
            } else {
                sum += part->second;
            }
        }
        if (ghost) ++ghosts_met_;
        if (sum > capacity_[uuid]) wrong(fmt::format("takes card {} over its end", uuid.str()));
    }
}

}  // namespace tessera::simulation

#include "testing/simulation/cluster.hpp"

#include <algorithm>
#include <array>

namespace tessera::simulation {
namespace {

// Faults that strike within a call or an action. The others are spontaneous (maybe_trouble).
constexpr std::array kOnOccasion = {
    Fault::call_failed,
    Fault::call_refused,
    Fault::answer_slow,
    Fault::call_lost,
    Fault::answer_lost,
    Fault::write_late,
    Fault::call_slow,
    Fault::watch_cut,
    Fault::watch_expired,
    Fault::watch_stalled,
    Fault::request_lost,
    Fault::request_timeout,
    Fault::rogue_binding,
    Fault::bypass,
    Fault::force_delete,
    Fault::namesake,
    Fault::copied_annotation,
    Fault::record_stale,
    Fault::nomination_ignored,
    Fault::nomination_cleared,
    Fault::nomination_of_others,
};

}  // namespace

Cluster::Cluster(Scene& shared)
    : scene(shared),
      server(shared),
      ground_truth(shared, server),
      service(shared, server),
      collector_(shared.loop, "collector") {
    draw_rates();
    build();
}

// Enables only some faults in each run, because many faults can hide what few would show.
void Cluster::draw_rates() {
    const std::vector<std::uint64_t> levels = {0, 0, 3, 15, 50, 150};
    for (const Fault fault : kOnOccasion)
        scene.rates[static_cast<std::size_t>(fault)] = scene.rng.pick(levels);
    for (const Fault fault :
         {Fault::force_delete, Fault::namesake, Fault::request_timeout, Fault::nomination_ignored})
        scene.rates[static_cast<std::size_t>(fault)] *= 4;
    scene.slowness = scene.rng.pick(std::vector<int>{1, 1, 3, 10, 30});
    fault_rate_ = scene.rng.pick(std::vector<std::uint64_t>{0, 50, 200, 600});
    std::vector<std::function<void()>> all = {
        [this] { kill_controller(); },
        [this] { kill_controller(); },
        [this] { retire_controller(); },
        [this] { kill_scheduler(); },
        [this] { silence_api(); },
        [this] { kill_agent(nodes[scene.rng.below(nodes.size())]); },
        [this] { kill_kubelet(nodes[scene.rng.below(nodes.size())]); },
        [this] { vanish(nodes[scene.rng.below(nodes.size())]); },
        [this] { lose_gpu(nodes[scene.rng.below(nodes.size())]); },
        [this] { fault_gpu(nodes[scene.rng.below(nodes.size())]); },
        [this] { silence_driver(nodes[scene.rng.below(nodes.size())]); },
        [this] { unlink(nodes[scene.rng.below(nodes.size())]); },
    };
    for (auto& fault : all) {
        if (scene.rng.chance(600)) faults_.push_back(std::move(fault));
    }
}

void Cluster::build() {
    Rng& rng = scene.rng;
    scene.has_mps = rng.chance(400);
    const Identity identity = rng.chance(600) ? Identity::nri : Identity::kubelet;
    const std::int64_t count = rng.between(1, 3);
    int most_gpus = 0;
    std::int64_t most_gib = 0;
    std::vector<NodeName> names;
    nodes.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const int gpus = static_cast<int>(rng.between(1, 3));
        const std::int64_t gib = rng.between(4, 16);
        // Every pod must fit on one node: the first node, of which Users gets the size.
        most_gpus = i == 0 ? gpus : most_gpus;
        most_gib = i == 0 ? gib : most_gib;
        names.emplace_back("n" + std::to_string(i));
        ClusterNode node;
        node.machine = std::make_unique<Machine>(scene, names.back(), gpus, gibibytes(gib));
        ground_truth.add(*node.machine);
        node.kubelet =
            std::make_unique<Kubelet>(scene, server, ground_truth, *node.machine, identity);
        nodes.push_back(std::move(node));
    }
    for (ClusterNode& node : nodes) {
        server.create_node(node.machine->name);
        node.kubelet->start();
        start_agent(node);
    }
    scene.election = rng.chance(700) || scene.unpromised.frozen_leader;
    scene.scheduler_mode = scene.election && rng.chance(400);
    scene.priorities = rng.chance(500);
    scene.nominates = rng.chance(500);
    scene.clears_nominations = rng.chance(500);
    service.start(0);
    if (scene.election) service.start(1);
    scheduler = std::make_unique<KubeScheduler>(scene, server, service);
    scheduler->start();
    users = std::make_unique<Users>(scene, server, names, most_gpus, gibibytes(most_gib));
    users->start();
    collector_.spawn([this] { collect_lost_pods(); });
}

void Cluster::maybe_trouble() {
    if (!scene.has_faults || faults_.empty() || scene.rng.below(100'000) >= fault_rate_) return;
    faults_[scene.rng.below(faults_.size())]();
}

void Cluster::start_agent(ClusterNode& node) {
    if (node.cut_off || node.kubelet->agent) return;
    node.kubelet->agent =
        std::make_unique<Agent>(scene, server, *node.machine, node.kubelet->identity());
    if (node.kubelet->agent->start()) return;
    node.kubelet->agent.reset();
    scene.loop.after(5s, [this, &node] { start_agent(node); });
}

// Deletes the pods of deleted nodes, as kube-controller-manager's pod garbage collector does.
void Cluster::collect_lost_pods() {
    while (true) {
        scene.loop.sleep(20s);
        std::vector<PodInfo> lost;
        for (const auto& [name, pod] : server.pods()) {
            const PodInfo& facts = pod->info;
            if (!facts.node.empty() && !server.nodes().contains(facts.node)) lost.push_back(facts);
        }
        for (const PodInfo& facts : lost)
            server.remove_pod(facts.name, facts.uid);
    }
}

void Cluster::kill_controller() {
    if (service.controllers.empty()) return;
    Controller& victim = *scene.rng.pick(service.controllers);
    scene.struck(Fault::controller_crash, victim.process().name());
    const int replica = victim.replica();
    service.kill(victim.life());
    scene.loop.after(scene.rng.between(Time(50ms), Time(scene.rng.chance(700) ? 1s : 20s)),
                     [this, replica] { service.start(replica); });
}

// Terminates a controller gracefully, as in a rolling update.
void Cluster::retire_controller() {
    if (service.controllers.empty()) return;
    Controller& one = *scene.rng.pick(service.controllers);
    if (one.retiring()) return;
    scene.struck(Fault::controller_retired, one.process().name());
    one.retire();
    await_retired(one.life(), one.replica());
}

void Cluster::await_retired(int life, int replica) {
    scene.loop.after(scene.rng.between(Time(1ms), Time(50ms)), [this, life, replica] {
        const auto at =
            std::ranges::find(service.controllers, life, [](const auto& c) { return c->life(); });
        if (at == service.controllers.end()) return;  // it was killed meanwhile, and is restarted
        if (!(*at)->retired()) return await_retired(life, replica);
        service.kill(life);
        scene.loop.after(scene.rng.between(Time(50ms), Time(5s)),
                         [this, replica] { service.start(replica); });
    });
}

void Cluster::kill_scheduler() {
    if (!scheduler->runs()) return;
    scene.struck(Fault::scheduler_crash, "");
    scheduler->stop();
    scene.loop.after(scene.rng.between(Time(50ms), Time(10s)), [this] {
        if (scene.scheduler_mode && scene.rng.chance(700)) {
            scene.leading_scheduler = 1 - scene.leading_scheduler;
            scene.struck(Fault::scheduler_moved, std::to_string(scene.leading_scheduler));
        }
        scheduler->start();
    });
}

void Cluster::silence_api() {
    scene.struck(Fault::api_outage, "");
    server.silent_until = scene.loop.now() + scene.rng.between(Time(500ms), Time(25s));
}

void Cluster::kill_agent(ClusterNode& node) {
    if (!node.kubelet->agent) return;
    scene.struck(Fault::agent_crash, node.machine->name.str());
    node.kubelet->agent.reset();
    scene.loop.after(scene.rng.between(Time(50ms), Time(15s)),
                     [this, &node] { start_agent(node); });
}

void Cluster::kill_kubelet(ClusterNode& node) {
    if (node.cut_off || !node.kubelet->runs()) return;
    scene.struck(Fault::kubelet_crash, node.machine->name.str());
    node.kubelet->stop();
    scene.loop.after(scene.rng.between(Time(200ms), Time(10s)), [&node] {
        if (!node.cut_off && !node.kubelet->runs()) node.kubelet->start();
    });
}

// Disconnects a node: its kubelet and agent stop, and its containers keep running unless the
// machine reboots.
void Cluster::vanish(ClusterNode& node) {
    if (node.cut_off) return;
    scene.struck(Fault::node_vanished, node.machine->name.str());
    node.cut_off = true;
    node.kubelet->stop();
    node.kubelet->agent.reset();
    server.delete_node(node.machine->name);
    scene.loop.after(scene.rng.between(Time(1s), Time(80s)), [this, &node] {
        if (scene.rng.chance(400)) {
            scene.struck(Fault::node_rebooted, node.machine->name.str());
            node.machine->containers.clear();
        }
        node.cut_off = false;
        server.create_node(node.machine->name);
        node.kubelet->start();
        scene.loop.after(scene.rng.between(Time(10ms), Time(5s)),
                         [this, &node] { start_agent(node); });
    });
}

void Cluster::lose_gpu(ClusterNode& node) {
    PhysicalGpu& gpu = node.machine->gpus[scene.rng.below(node.machine->gpus.size())];
    scene.struck(Fault::gpu_lost, gpu.uuid.str());
    gpu.lost = true;
    scene.loop.after(scene.rng.between(Time(1s), Time(60s)), [&gpu] { gpu.lost = false; });
}

void Cluster::fault_gpu(ClusterNode& node) {
    constexpr int kDoubleBitError = 48;
    PhysicalGpu& gpu = node.machine->gpus[scene.rng.below(node.machine->gpus.size())];
    scene.struck(Fault::gpu_faulty, gpu.uuid.str());
    gpu.faulty = true;
    node.machine->faults.push_back({.uuid = gpu.uuid, .xid = kDoubleBitError});
    if (node.kubelet->agent) node.kubelet->agent->look_at_gpus();
    scene.loop.after(scene.rng.between(Time(1s), Time(60s)), [&gpu] { gpu.faulty = false; });
}

void Cluster::silence_driver(ClusterNode& node) {
    scene.struck(Fault::driver_silent, node.machine->name.str());
    node.machine->driver_silent_until = scene.loop.now() + scene.rng.between(Time(1s), Time(40s));
}

void Cluster::unlink(ClusterNode& node) {
    if (!node.kubelet->agent || !node.kubelet->agent->linked()) return;
    scene.struck(Fault::runtime_unlinked, node.machine->name.str());
    node.kubelet->agent->unlink(scene.rng.between(Time(10ms), Time(10s)));
}

}  // namespace tessera::simulation

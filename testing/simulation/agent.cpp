#include "testing/simulation/agent.hpp"

namespace tessera::simulation {
namespace {

// GpuMonitorOptions, NodePublisherOptions.
constexpr Time kProbePeriod = 5s;
constexpr Time kCheckPeriod = 30s;
constexpr Time kRetryPeriod = 5s;

}  // namespace

Agent::Agent(Scene& scene, ApiServer& server, Machine& machine, Identity identity)
    : scene_(scene),
      machine_(machine),
      identity_(identity),
      clock_(scene.loop),
      kube_(scene, server, "agent-" + machine.name.str()),
      modes_({machine.mps, machine.mps, clock_}, machine.name),
      gpus_(machine, kube_, *this,
            {.node = machine.name,
             .lists = {},
             .publishing = {.identity = std::string(identity_name(identity))},
             .modes = scene.has_mps ? &modes_ : nullptr}),
      handler_({.gpus = gpus_,
                .kube = kube_,
                .holders = machine,
                .plugins = *this,
                .cdi = machine,
                .seal = nullptr,
                .unshared = this,
                .modes = scene.has_mps ? &modes_ : nullptr},
               machine.name, identity, {}),
      process_(scene.loop, "agent-" + machine.name.str()) {}

Agent::~Agent() {
    process_.kill();
}

bool Agent::start() {
    if (!gpus_.load()) return false;
    process_.spawn([this] { publish(); });
    process_.spawn([this] { follow_gpus(); });
    if (scene_.has_mps) process_.spawn([this] { follow_modes(); });
    if (identity_ == Identity::nri) process_.spawn([this] { link(); });
    return true;
}

void Agent::follow_gpus() {
    gpus_.publish();
    while (true) {
        prober_ = scene_.loop.me();
        scene_.loop.wait(kProbePeriod);
        for (; !machine_.faults.empty(); machine_.faults.pop_front())
            gpus_.take_faults(machine_.faults.front());
        gpus_.update();
    }
}

// The product follows a watch; a list each second shows the same, as late.
void Agent::follow_modes() {
    while (true) {
        if (auto pods = kube_.list_pods(machine_.name)) {
            PodChanges all{
                .upserted = *std::move(pods), .deleted = {}, .listed = std::set<PodUid>()};
            for (const PodInfo& pod : all.upserted)
                all.listed->insert(pod.uid);
            modes_.take(all);
        }
        modes_.apply();
        scene_.loop.sleep(1s);
    }
}

void Agent::look_at_gpus() {
    scene_.loop.wake(prober_);
}

void Agent::publish() {
    bool published = true;
    while (true) {
        publisher_ = scene_.loop.me();
        if (!publish_due_) scene_.loop.wait(published ? kCheckPeriod : kRetryPeriod);
        publish_due_ = false;
        published = gpus_.publish_now();
    }
}

void Agent::set_lists(DeviceLists) {
    publish_due_ = true;
    scene_.loop.wake(publisher_);
}

void Agent::refresh_record() {
    scene_.loop.after(scene_.rng.between(Time(5ms), Time(500ms)),
                      [&machine = machine_] { machine.written = machine.record; });
}

void Agent::run(DevicePluginHandler&, const std::function<void()>&, std::stop_token) {}

void Agent::found(UnsharedContainer container) {
    machine_.containers.erase(container.id);
}

void Agent::unlink(Time duration) {
    if (!linked_) return;
    linked_ = false;
    handler_.on_link(false, "cut");
    process_.spawn([this, duration] {
        scene_.loop.sleep(duration);
        link();
    });
}

// From the moment when the runtime lists its running containers, it starts no others until the call
// returns.
void Agent::link() {
    scene_.loop.sleep(scene_.rng.between(Time(20ms), Time(2s)));
    handler_.on_runtime({"simulated", "1.0.0"});
    std::vector<RuntimeContainer> running;
    running.reserve(machine_.containers.size());
    for (const auto& [id, container] : machine_.containers) {
        running.push_back({.id = id,
                           .name = container.name,
                           .running = true,
                           .env = container.env,
                           .pod_uid = container.pod,
                           .pod = container.pod_name,
                           .pod_annotations = container.pod_annotations});
    }
    handler_.synchronize(running);
    handler_.on_link(true, "simulated");
    linked_ = true;
    linked_since_ = scene_.loop.now();
}

}  // namespace tessera::simulation

#include "testing/simulation/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"

namespace tessera::simulation {
namespace {

constexpr Time kAgentTimeout = 10s;
constexpr std::string_view kMemory = "TESSERA_GPU_MEMORY_BYTES";

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        out.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return out;
}

// The GPUs of a container and the memory on each, by its environment.
std::map<GpuUuid, Bytes> gpus_of(const ContainerEdits& edits) {
    std::vector<std::string> gpus;
    std::vector<std::string> amounts;
    for (const auto& [name, value] : edits.env) {
        if (name == kVisibleDevices) gpus = parts_of(value);
        if (name == kMemory) amounts = parts_of(value);
    }
    std::map<GpuUuid, Bytes> out;
    for (std::size_t i = 0; i < gpus.size() && i < amounts.size(); ++i)
        out[GpuUuid(gpus[i])] = Bytes{std::stoll(amounts[i])};
    return out;
}

std::string resource_of(const ContainerSpec& spec) {
    for (const auto& [resource, amount] : spec.limits) {
        if (resource == resource::kAliyunMem || resource == resource::kGpuShare) return resource;
    }
    return std::string(resource::kGpu);
}

// kubelet reuses the devices of an init container for the app containers of the pod.
std::vector<std::string> devices_of(const PodObject& pod, const ContainerSpec& spec) {
    return {pod.info.uid.str() + "-" + resource_of(spec)};
}

}  // namespace

Kubelet::Kubelet(Scene& scene, ApiServer& server, GroundTruth& ground_truth, Machine& machine,
                 Identity identity)
    : scene_(scene),
      server_(server),
      ground_truth_(ground_truth),
      machine_(machine),
      identity_(identity),
      informer_(scene, 20ms, [this](const Change<PodObject>& change) { take(change); }) {
    server.on_pod([this](const Change<PodObject>& change) {
        if (change.object->info.node == machine_.name) informer_.hear(change);
    });
}

void Kubelet::start() {
    process_ = std::make_unique<Process>(scene_.loop, "kubelet-" + machine_.name.str());
    informer_.open();
    for (const auto& [name, pod] : server_.pods()) {
        if (pod->info.node == machine_.name) know(pod);
    }
    reap_orphans();
}

void Kubelet::stop() {
    informer_.close();
    process_.reset();
    pods_.clear();
}

// Removes containers and records of pods that were deleted while kubelet was down.
void Kubelet::reap_orphans() {
    std::set<PodUid> orphans;
    for (const auto& [id, container] : machine_.containers) {
        if (!pods_.contains(container.pod)) orphans.insert(container.pod);
    }
    for (const DeviceHolder& holder : machine_.record) {
        if (!pods_.contains(holder.pod)) orphans.insert(holder.pod);
    }
    if (orphans.empty()) return;
    process_->spawn([this, orphans] {
        scene_.loop.sleep(scene_.rng.between(Time(100ms), Time(10s)));
        for (const PodUid& uid : orphans) {
            machine_.end_containers(uid);
            machine_.forget(uid);
        }
    });
}

void Kubelet::know(const PodPtr& pod) {
    const PodUid uid = pod->info.uid;
    auto [at, is_new] = pods_.try_emplace(uid);
    at->second.pod = pod;
    if (is_new && pod->info.finished) at->second.done = true;
    if (at->second.done && pod->info.terminating) {
        process_->spawn([this, facts = pod->info] {
            scene_.loop.sleep(scene_.delay(20ms));
            server_.remove_pod(facts.name, facts.uid);
        });
    }
    if (is_new && !at->second.done) process_->spawn([this, uid] { work(uid); });
    scene_.loop.wake(at->second.worker);
}

void Kubelet::take(const Change<PodObject>& change) {
    if (!change.deleted) return know(change.object);
    const auto at = pods_.find(change.object->info.uid);
    if (at == pods_.end()) return;
    if (at->second.done) {
        pods_.erase(at);
        return;
    }
    at->second.gone = true;
    scene_.loop.wake(at->second.worker);
}

bool Kubelet::is_to_end(const Known& known) {
    return known.gone || known.pod->info.terminating;
}

bool Kubelet::pause(Known& known, Time duration) {
    known.worker = scene_.loop.me();
    if (!is_to_end(known)) scene_.loop.wait(duration);
    return !is_to_end(known);
}

void Kubelet::work(const PodUid& uid) {
    Known& known = pods_.at(uid);
    const PodPtr first = known.pod;
    if (!is_to_end(known)) admit(*first);
    const bool done = run_to_end(known);
    // A terminating pod uses its grace period. For a removed pod, this is the time until kubelet
    // notices.
    if (!done) scene_.loop.sleep(scene_.rng.between(Time(0), Time(5s)));
    machine_.end_containers(uid);
    scene_.loop.sleep(scene_.delay(20ms));
    finish(known);
    machine_.forget(uid);
    known.done = true;
    if (known.gone) pods_.erase(uid);
}

void Kubelet::finish(Known& known) {
    const PodInfo info = known.pod->info;
    while (!known.gone && scene_.loop.now() < server_.silent_until)
        scene_.loop.sleep(1s);
    if (info.terminating || known.pod->info.terminating) {
        server_.remove_pod(info.name, info.uid);
    } else {
        server_.finish_pod(info.name, info.uid);
    }
}

// True if the pod's work is done, false if the pod must end before that.
bool Kubelet::run_to_end(Known& known) {
    const PodPtr pod = known.pod;  // its containers never change; known.pod does
    const PodUid uid = pod->info.uid;
    const bool had_begun = machine_.ends.contains(uid);
    for (const ContainerSpec& spec : pod->info.containers) {
        if (spec.kind != ContainerKind::init || had_begun) continue;
        while (!machine_.running(uid, spec.name)) {
            if (start_container(*pod, spec)) continue;
            if (!pause(known, scene_.rng.between(Time(500ms), Time(8s)))) return false;
        }
        if (!pause(known, scene_.rng.between(Time(100ms), Time(5s)))) return false;
        machine_.end_containers(uid);
    }
    while (!is_to_end(known)) {
        bool all = true;
        for (const ContainerSpec& spec : pod->info.containers) {
            if (spec.kind == ContainerKind::init || machine_.running(uid, spec.name)) continue;
            all &= start_container(*pod, spec);
        }
        const auto [end, is_first] = machine_.ends.try_emplace(uid, Time::max());
        if (all && end->second == Time::max()) {
            end->second = scene_.loop.now() +
                          scene_.rng.between(Time(500ms), Time(scene_.rng.chance(800) ? 20s : 90s));
        }
        if (all && scene_.loop.now() >= end->second) return true;
        const Time left = end->second - scene_.loop.now();
        const Time look =
            all ? std::min(left, Time(2s)) : scene_.rng.between(Time(500ms), Time(8s));
        if (!pause(known, look)) return false;
    }
    return false;
}

// The device manager records the pod's devices before any container starts.
void Kubelet::admit(const PodObject& pod) {
    const PodUid uid = pod.info.uid;
    if (std::ranges::find(machine_.record, uid, &DeviceHolder::pod) != machine_.record.end())
        return;
    std::vector<DeviceHolder> holders;
    for (const ContainerSpec& spec : pod.info.containers) {
        const auto ids = devices_of(pod, spec);
        std::vector<std::string> names;
        while (true) {
            const auto given =
                !agent ? std::nullopt
                       : call(scene_.loop, agent->process(), kAgentTimeout,
                              [handler = &agent->handler(), resource = resource_of(spec), ids] {
                                  return handler->allocate(resource, ids);
                              });
            if (given && *given) {
                names = **given;
                break;
            }
            scene_.loop.sleep(scene_.rng.between(Time(500ms), Time(3s)));
        }
        holders.push_back({.pod = uid,
                           .container = spec.name,
                           .resource = resource_of(spec),
                           .ids = {ids.begin(), ids.end()},
                           .cdi_devices = names});
    }
    machine_.record.insert(machine_.record.end(), holders.begin(), holders.end());
    machine_.write_record();
}

bool Kubelet::start_container(const PodObject& pod, const ContainerSpec& spec) {
    scene_.loop.sleep(scene_.delay(5ms));
    if (!pre_start(pod, spec)) return false;
    scene_.loop.sleep(scene_.delay(20ms));
    return create(pod, spec);
}

bool Kubelet::pre_start(const PodObject& pod, const ContainerSpec& spec) {
    if (!agent) return false;
    const auto answer = call(
        scene_.loop, agent->process(), kAgentTimeout,
        [handler = &agent->handler(), resource = resource_of(spec), ids = devices_of(pod, spec)] {
            return handler->pre_start(resource, ids).has_value();
        });
    return answer.value_or(false);
}

// Takes no simulated time. While no NRI plugin is connected, the runtime creates the container
// without edits.
bool Kubelet::create(const PodObject& pod, const ContainerSpec& spec) {
    RuntimeContainer container{.id = fmt::format("{}-{}", machine_.name.str(), next_id_++),
                               .name = spec.name,
                               .running = false,
                               .env = {"PATH=/bin"},
                               .pod_uid = pod.info.uid,
                               .pod = pod.info.name,
                               .pod_annotations = pod.annotations,
                               .setup = {.name = spec.name}};
    ContainerEdits edits;
    bool by_agent = true;
    if (identity_ == Identity::nri) {
        by_agent = agent && agent->linked();
        if (by_agent) {
            auto completed = agent->handler().on_create_container(container);
            if (!completed) return false;
            edits = *std::move(completed);
        }
    } else {
        constexpr std::string_view kKind = "tessera.dev/share=";
        for (const DeviceHolder& holder : machine_.record) {
            if (holder.pod != pod.info.uid || holder.container != spec.name) continue;
            for (const std::string& device : holder.cdi_devices) {
                const auto share = machine_.shares.find(device.substr(kKind.size()));
                if (share == machine_.shares.end()) return false;
                edits = share->second;
            }
        }
    }
    Container made{
        .pod = pod.info.uid,
        .pod_name = pod.info.name,
        .name = spec.name,
        .pod_annotations = pod.annotations,
        .env = container.env,
        .id = container.id,
        .gpus = gpus_of(edits),
        .uses_mps = pod.info.allocation && *pod.info.allocation && uses_mps(**pod.info.allocation),
        .since = scene_.loop.now()};
    for (const auto& [name, value] : edits.env)
        made.env.push_back(fmt::format("{}={}", name, value));
    container.env = made.env;
    if (identity_ == Identity::nri && by_agent && !agent->handler().verify(container)) return false;
    ground_truth_.check_start(machine_, made, by_agent);
    scene_.note(machine_.name.str(), [&] {
        return fmt::format("starts {} of {} {}{}", made.name, made.pod_name.name, made.pod.str(),
                           by_agent ? "" : " without the agent");
    });
    machine_.containers.emplace(made.id, std::move(made));
    return true;
}

}  // namespace tessera::simulation

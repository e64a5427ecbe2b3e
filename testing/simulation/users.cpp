#include "testing/simulation/users.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "testing/builders/builders.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera::simulation {
namespace {

constexpr std::uint64_t kNames = 40;

// PodInfo::created. A run is shorter than a day.
std::string created_text(Time now) {
    return fmt::format("2026-01-01T{:%H:%M:%S}Z", std::chrono::floor<std::chrono::seconds>(now));
}

}  // namespace

Users::Users(Scene& scene, ApiServer& server, std::vector<NodeName> nodes, int gpus, Bytes each)
    : scene_(scene),
      server_(server),
      nodes_(std::move(nodes)),
      gpus_(gpus),
      gib_(each.count / kGiB),
      pods_at_once_(scene.rng.between(4, 32)),
      process_(scene.loop, "users") {}

void Users::start() {
    const Time pace = scene_.rng.pick(std::vector<Time>{50ms, 200ms, 500ms, 1s, 4s});
    process_.spawn([this, pace] {
        while (scene_.has_faults) {
            act();
            scene_.loop.sleep(scene_.rng.delay(pace));
        }
    });
}

void Users::act() {
    const std::uint64_t dice = scene_.rng.below(100);
    if (dice < 62 && static_cast<std::int64_t>(server_.pods().size()) < pods_at_once_) {
        create(draw_name());
    } else if (dice < 85) {
        delete_one();
    } else if (scene_.strikes(Fault::rogue_binding)) {
        bind_past_everyone();
    } else if (scene_.nominates && scene_.strikes(Fault::nomination_of_others)) {
        nominate_past_everyone();
    }
}

PodName Users::draw_name() {
    return {"default", fmt::format("p{}", scene_.rng.below(kNames))};
}

std::vector<ContainerSpec> Users::draw_containers() {
    Rng& rng = scene_.rng;
    std::vector<ContainerSpec> out;
    const std::int64_t units = rng.chance(700) ? rng.between(1, std::max<std::int64_t>(gib_ / 2, 1))
                                               : rng.between(1, gib_);
    switch (rng.below(6)) {
        case 0:
            out = build::whole(static_cast<int>(rng.between(1, gpus_)));
            break;
        case 1:
            out = build::native(gibibytes(units), static_cast<int>(rng.between(1, gpus_)));
            break;
        case 2:
        case 3:
            out = build::native(gibibytes(units));
            break;
        default:
            out = build::aliyun(units);
    }
    if (rng.chance(150)) {
        const bool is_native = out[0].limits[0].first != resource::kAliyunMem;
        const std::string resource(is_native ? resource::kGpu : resource::kAliyunMem);
        out.insert(out.begin(),
                   build::container("prepare", {{resource, "1"}}, ContainerKind::init));
    }
    return out;
}

std::vector<ContainerSpec> Users::draw_mps_container() {
    Rng& rng = scene_.rng;
    auto out = build::native(gibibytes(rng.between(1, std::max<std::int64_t>(gib_ / 2, 1))));
    out[0].limits.emplace_back(resource::kGpuCores, std::to_string(rng.between(1, 50)));
    return out;
}

void Users::create(const PodName& name) {
    if (server_.pods().contains(name)) return;
    PodObject pod;
    pod.info.name = name;
    pod.info.uid = PodUid(fmt::format("uid-{:04}", next_uid_++));
    pod.info.created = created_text(scene_.loop.now());
    if (scene_.has_mps && scene_.rng.chance(400)) {
        pod.info.gpu_rules.isolation = "mps";
        build::set_containers(pod.info, draw_mps_container());
    } else {
        build::set_containers(pod.info, draw_containers());
    }
    // Nothing is known of the other pods' rules, so they are not nominated.
    if (scene_.rng.chance(900)) pod.info.scheduling = scheduling_;
    if (scene_.priorities) {
        pod.info.priority = scene_.rng.pick(std::vector<int>{0, 0, 0, 5, 10});
        pod.info.preempts = scene_.rng.chance(800);
        pod.guarded = scene_.rng.chance(200);
    }
    if (scene_.strikes(Fault::copied_annotation)) {
        if (const PodPtr original = draw(true)) {
            pod.annotations = original->annotations;
            pod.info.allocation = original->info.allocation;
        }
    }
    if (scene_.strikes(Fault::bypass)) pod.info.node = scene_.rng.pick(nodes_);
    server_.create_pod(pod);
}

// A random pod that is bound, or not bound; null if there is none.
PodPtr Users::draw(bool bound) {
    std::vector<PodPtr> pods;
    for (const auto& [name, pod] : server_.pods()) {
        if (!pod->info.node.empty() == bound) pods.push_back(pod);
    }
    return pods.empty() ? nullptr : scene_.rng.pick(pods);
}

void Users::delete_one() {
    const PodPtr pod = draw(scene_.rng.chance(800));
    if (!pod) return;
    if (scene_.strikes(Fault::force_delete)) return delete_by_force(pod->info);
    server_.delete_pod(pod->info.name);
}

void Users::delete_by_force(const PodInfo& pod) {
    const PodName name = pod.name;
    server_.remove_pod(name, PodUid(pod.uid));
    if (!scene_.strikes(Fault::namesake)) return;
    process_.spawn([this, name] {
        scene_.loop.sleep(scene_.rng.delay(10ms));
        create(name);
    });
}

void Users::bind_past_everyone() {
    const PodPtr pod = draw(false);
    if (!pod) return;
    (void)server_.bind(pod->info.uid, pod->info.name, scene_.rng.pick(nodes_), {});
}

void Users::nominate_past_everyone() {
    const PodPtr pod = draw(false);
    if (!pod) return;
    (void)server_.nominate(pod->info.uid, pod->info.name, scene_.rng.pick(nodes_), false);
}

void Users::clean_up() {
    std::vector<PodInfo> ended;
    for (const auto& [name, pod] : server_.pods()) {
        const PodInfo& facts = pod->info;
        const bool astray = !facts.node.empty() && own_allocation(facts) == nullptr;
        if (facts.finished) ended.push_back(facts);
        if (astray && !facts.finished) server_.delete_pod(PodName(facts.name));
    }
    for (const PodInfo& facts : ended)
        server_.remove_pod(facts.name, facts.uid);
}

}  // namespace tessera::simulation

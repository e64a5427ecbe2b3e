#include "programs/agent/share_enforcement.hpp"

#include <functional>
#include <utility>

#include "app/common/periodic.hpp"

namespace tessera {

ShareEnforcement::ShareEnforcement(GuardFolderOptions guard, const MpsOptions& mps,
                                   BypassOptions bypass, HttpClient& api,
                                   ShareEnforcementPorts ports)
    : ports_(std::move(ports)),
      guard_(std::move(guard), ports_.clock),
      events_(api),
      mps_(mps.folder.empty() ? nullptr
                              : std::make_unique<Mps>(mps, guard_.probe(), ports_, events_)),
      enforcers_(rows()),
      reported_(guard_.pods_folder()),
      resized_(guard_.pods_folder()),
      bypasses_({ports_.driver, processes_, enforcers_, enforcers_, events_}, bypass),
      mounts_({enforcers_, processes_, events_}, bypass.kills_them),
      unshared_({processes_, events_}, bypass.kills_them),
      reconciler_(enforcers_, resized_, ports_.node),
      collector_(enforcers_, ports_.record),
      share_events_(enforcers_, reported_, events_) {}

// In order of strength. Each takes the shares that ask for it.
std::vector<Enforcer*> ShareEnforcement::rows() {
    if (!mps_) return {&guard_};
    return {&mps_->enforcer, &guard_};
}

void ShareEnforcement::add_to(GpuMonitorOptions& monitoring) const {
    monitoring.enforcement_fault = enforcers_.fault();
    monitoring.modes = modes();
    if (mps_) {
        monitoring.mps_offenders = [this](const GpuUuid& gpu) {
            return mps_->watch.offenders(gpu);
        };
    }
}

void ShareEnforcement::add_to(ContainerStartPorts& starting) {
    starting.enforcers = enforcers_;
    starting.resized = &resized_;
    starting.mounts = &mounts_;
    starting.unshared = &unshared_;
    starting.modes = modes();
}

void ShareEnforcement::watch_pods(const std::stop_token& stop) {
    ports_.pods.follow_pods_of(
        ports_.node,
        [this](const PodChanges& changes) {
            reconciler_.take(changes);
            collector_.take(changes);
            if (mps_) mps_->modes.take(changes);
        },
        [this](const Error& error) { reconciler_.take_error(error); }, stop);
}

std::vector<std::jthread> ShareEnforcement::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    const auto every = [&](std::chrono::milliseconds pause, std::function<void()> round) {
        threads.emplace_back([this, stop, pause, round = std::move(round)] {
            repeat(ports_.clock, pause, stop, [&round](const std::stop_token&) { round(); });
        });
    };
    threads.emplace_back([this, stop] { watch_pods(stop); });
    every(RegionGarbageCollector::kPeriod, [this] { collector_.collect(); });
    every(ShareEvents::kPeriod, [this] { share_events_.look(); });
    every(BypassDetector::kPeriod, [this] { bypasses_.look(); });
    every(MountWatch::kPeriod, [this] { mounts_.look(); });
    every(UnsharedWatch::kPeriod, [this] { unshared_.look(); });
    if (mps_) {
        every(GpuModes::kPeriod, [this] { mps_->modes.apply(); });
        every(MpsWatch::kPeriod, [this] { mps_->watch.look(); });
    }
    threads.emplace_back([this, stop] { guard_.share_out_time(stop); });
    threads.emplace_back([this, stop] { reconciler_.run(stop); });
    return threads;
}

}  // namespace tessera

#include "programs/agent/share_enforcement.hpp"

#include <functional>
#include <utility>

#include "app/common/periodic.hpp"

namespace tessera {
namespace {

// In the guard's folder of the node.
constexpr const char* kMemoryLimitsFolder = "memory-limits";

}  // namespace

ShareEnforcement::ShareEnforcement(const EnforcementOptions& options, HttpClient& api,
                                   ShareEnforcementPorts ports)
    : ports_(std::move(ports)),
      guard_(options.guard, ports_.clock),
      events_(api),
      mps_(options.mps.folder.empty()
               ? nullptr
               : std::make_unique<Mps>(options.mps, guard_.probe(), ports_, events_)),
      driver_(options.driver.cgroup_folder.empty()
                  ? nullptr
                  : std::make_unique<DriverLimits>(
                        options.driver,
                        std::filesystem::path(options.guard.folder) / kMemoryLimitsFolder)),
      enforcers_(rows()),
      reported_(guard_.pods_folder()),
      resized_(guard_.pods_folder()),
      bypasses_({ports_.driver, processes_, enforcers_, enforcers_, events_}, options.bypass),
      mounts_({enforcers_, processes_, events_}, options.bypass.kills_them),
      unshared_({processes_, events_}, options.bypass.kills_them),
      reconciler_(enforcers_, resized_, ports_.node),
      collector_(enforcers_, ports_.record),
      share_events_(enforcers_, reported_, events_) {}

// In order of strength. Each takes the shares that ask for it.
std::vector<Enforcer*> ShareEnforcement::rows() {
    std::vector<Enforcer*> rows;
    if (mps_) rows.push_back(&mps_->enforcer);
    if (driver_) rows.push_back(&driver_->enforcer);
    rows.push_back(&guard_);
    return rows;
}

void ShareEnforcement::add_to(GpuMonitorOptions& monitoring) const {
    monitoring.enforcement_fault = enforcers_.fault();
    monitoring.modes = modes();
    if (driver_) monitoring.memory_limits = driver_->limits.get();
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

void ShareEnforcement::take(const PodChanges& changes) {
    reconciler_.take(changes);
    collector_.take(changes);
    if (mps_) mps_->modes.take(changes);
}

std::vector<std::jthread> ShareEnforcement::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    const auto every = [&](std::chrono::milliseconds pause, std::function<void()> round) {
        threads.emplace_back([this, stop, pause, round = std::move(round)] {
            repeat(ports_.clock, pause, stop, [&round](const std::stop_token&) { round(); });
        });
    };
    threads.emplace_back([this, stop] {
        while (!stop.stop_requested())
            ports_.clock.sleep_for(collector_.collect(), stop);
    });
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

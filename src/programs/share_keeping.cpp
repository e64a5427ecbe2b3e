#include "programs/share_keeping.hpp"

#include <utility>

namespace tessera {

ShareKeeping::ShareKeeping(GuardFolderOptions guard, EvaderOptions evaders, const HttpEndpoint& api,
                           ShareKeepingPorts ports)
    : ports_(std::move(ports)),
      guard_(std::move(guard), ports_.clock),
      events_(api),
      evaders_({ports_.driver, processes_, guard_, events_}, evaders),
      mounts_({guard_, processes_, events_}, evaders.ends_them),
      unshared_({processes_, events_}, evaders.ends_them),
      follower_(guard_.limits(), ports_.node),
      keeper_(guard_, ports_.record),
      share_events_(guard_, events_) {}

void ShareKeeping::watch_pods(const std::stop_token& stop) {
    ports_.pods.follow_pods_of(
        ports_.node,
        [this](const PodChanges& changes) {
            follower_.take(changes);
            keeper_.take(changes);
        },
        [this](const Error& error) { follower_.take_trouble(error); }, stop);
}

std::vector<std::jthread> ShareKeeping::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    threads.emplace_back([this, stop] { watch_pods(stop); });
    threads.emplace_back([this, stop] { keeper_.run(ports_.clock, stop); });
    threads.emplace_back([this, stop] { share_events_.run(ports_.clock, stop); });
    threads.emplace_back([this, stop] { guard_.share_out_time(stop); });
    threads.emplace_back([this, stop] { follower_.run(stop); });
    threads.emplace_back([this, stop] { evaders_.run(ports_.clock, stop); });
    threads.emplace_back([this, stop] { mounts_.run(ports_.clock, stop); });
    threads.emplace_back([this, stop] { unshared_.run(ports_.clock, stop); });
    return threads;
}

}  // namespace tessera

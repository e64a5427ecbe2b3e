#include "programs/share_keeping.hpp"

#include <utility>

#include "app/agent/share_keeper.hpp"

namespace tessera {

ShareKeeping::ShareKeeping(GuardFolderOptions guard, EvaderOptions evaders, const HttpEndpoint& api,
                           ShareKeepingPorts ports)
    : ports_(std::move(ports)),
      guard_(std::move(guard), ports_.clock),
      events_(api),
      evaders_({ports_.driver, processes_, guard_, events_}, evaders),
      follower_(ports_.pods, guard_.limits(), ports_.node),
      share_events_(guard_, events_) {}

std::vector<std::jthread> ShareKeeping::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    threads.emplace_back([this, stop] { keep_shares(guard_, ports_.record, ports_.clock, stop); });
    threads.emplace_back([this, stop] { share_events_.run(ports_.clock, stop); });
    threads.emplace_back([this, stop] { guard_.share_out_time(stop); });
    threads.emplace_back([this, stop] { follower_.run(stop); });
    threads.emplace_back([this, stop] { evaders_.run(ports_.clock, stop); });
    return threads;
}

}  // namespace tessera

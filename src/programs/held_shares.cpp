#include "programs/held_shares.hpp"

#include <utility>

#include "app/agent/limit_events.hpp"
#include "app/agent/share_keeper.hpp"

namespace tessera {

HeldShares::HeldShares(GuardFolderOptions guard, EvaderOptions evaders, const HttpEndpoint& api,
                       HeldSharesPorts ports)
    : ports_(ports),
      guard_(std::move(guard), ports.clock),
      events_(api),
      evaders_({ports.driver, processes_, guard_, events_}, evaders) {}

std::vector<std::jthread> HeldShares::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    threads.emplace_back([this, stop] { keep_shares(guard_, ports_.record, ports_.clock, stop); });
    threads.emplace_back([this, stop] { watch_limits(guard_, events_, ports_.clock, stop); });
    threads.emplace_back([this, stop] { guard_.share_out_time(stop); });
    threads.emplace_back([this, stop] { evaders_.run(ports_.clock, stop); });
    return threads;
}

}  // namespace tessera

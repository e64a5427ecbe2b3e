#include "programs/agent/untainting.hpp"

#include <utility>

#include "adapters/os/system_clock.hpp"

namespace tessera {

std::jthread start_untainting(NodeTaints& nodes, StartupTaint taint, const AgentHealth& health,
                              const GpuMonitor& gpus, const DeviceListOptions& shown,
                              const std::stop_token& stop) {
    return std::jthread([&nodes, taint = std::move(taint), &health, &gpus, &shown, stop] {
        SystemClock clock;
        const auto lists = [&] { return device_lists(*gpus.inventory(), shown); };
        remove_startup_taint(nodes, taint, [&] { return health.ready(); }, lists, clock, stop);
    });
}

}  // namespace tessera

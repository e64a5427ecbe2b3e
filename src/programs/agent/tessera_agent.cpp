// tessera-agent: publishes the GPUs of one node, and completes the containers that use them.
#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_client.hpp"
#include "adapters/kube/kubeconfig.hpp"
#include "adapters/kubelet/device_checkpoint.hpp"
#include "adapters/kubelet/device_plugin_host.hpp"
#include "adapters/nri/nri_plugin.hpp"
#include "adapters/nvml/nvml_inventory.hpp"
#include "adapters/os/cdi_folder.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/agent/inventory/driver_wait.hpp"
#include "app/agent/inventory/startup_taint.hpp"
#include "app/agent/start/container_start_handler.hpp"
#include "base/log.hpp"
#include "domain/container_start/runtime_support.hpp"
#include "programs/agent/agent_config.hpp"
#include "programs/agent/agent_port.hpp"
#include "programs/agent/share_keeping.hpp"
#include "programs/common/run_program.hpp"
#include "programs/common/seal_file.hpp"

namespace tessera {
namespace {

GpuMonitorOptions monitor_options(const Config& config, Identity identity, const Dialects& dialects,
                                  CdiFolder& cdi) {
    const bool is_guarded = !config.guard_library.empty();
    // If every container's runtime handler reads NVIDIA_VISIBLE_DEVICES, CDI devices are not
    // needed.
    const bool needs_cdi = !reads_visible_devices({}, config.environment_handlers);
    return {
        .node = NodeName(config.node),
        .unit = config.memory_unit == "GiB" ? MemoryUnit::gib : MemoryUnit::mib,
        .lists = {.slots_per_gpu = static_cast<int>(config.slots_per_gpu), .dialects = &dialects},
        .publishing = {.identity = std::string(identity_name(identity)),
                       .shares = is_guarded ? EnforcementMode::guard : EnforcementMode::none,
                       .dialects = &dialects},
        .cdi = needs_cdi ? &cdi : nullptr};
}

CdiFolderOptions cdi_options(const Config& config) {
    return {.folders = {config.static_cdi_folder, config.cdi_folder},
            .dynamic = config.cdi_folder,
            .vendor_kind = config.cdi_kind};
}

// All arguments but `taint` outlive the thread.
std::jthread start_untainting(NodeTaints& nodes, StartupTaint taint, const AgentHealth& health,
                              const GpuMonitor& gpus, const DeviceListOptions& shown,
                              const std::stop_token& stop) {
    return std::jthread([&nodes, taint = std::move(taint), &health, &gpus, &shown, stop] {
        SystemClock clock;
        const auto lists = [&] { return device_lists(*gpus.inventory(), shown); };
        remove_startup_taint(nodes, taint, [&] { return health.ready(); }, lists, clock, stop);
    });
}

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    const NodeName node(config.node);
    TRY(const KubeConnection connection, connect_info({.path = config.kubeconfig}));
    TRY(const auto seal, load_seal(config.allocation_key_file));
    const AllocationSeal* sealed = seal ? &*seal : nullptr;
    TRY(const Dialects dialects, all_dialects().only(config.dialects));
    HttpClient api(connection.endpoint);
    KubeClient kube(api, sealed, dialects);
    SystemClock clock;
    AgentHealth health;
    const std::jthread answering = serve_health(
        {.address = config.health_listen.empty() ? config.listen : config.health_listen,
         .port = config.health_port},
        health, clock, stop);
    wait_for_driver(kube, node, stop);
    if (stop.stop_requested()) return {};
    const Identity identity = identity_of(config, kube);
    TRY(const auto driver, open_nvml(config.driver_root));
    const auto plugins = make_device_plugin_host(
        {.folder = config.plugin_folder, .sockets = plugin_sockets(dialects)});
    const auto holders = make_device_checkpoint(config.plugin_folder, dialects);
    std::optional<ShareKeeping> held;
    if (!config.guard_library.empty()) {
        held.emplace(
            GuardFolderOptions{.folder = config.guard_folder, .library = config.guard_library},
            BypassOptions{.allowance = mebibytes(config.context_mib),
                          .kills_them = config.bypass_action == "kill"},
            api, ShareKeepingPorts{*driver, *holders, clock, kube, node});
    }
    if (held) TRY_VOID(held->install());
    CdiFolder cdi(cdi_options(config));
    GpuMonitorOptions monitoring = monitor_options(config, identity, dialects, cdi);
    if (held) monitoring.enforcement_fault = held->enforcers().fault();
    GpuMonitor gpus(*driver, kube, *plugins, monitoring, held ? &held->enforcers() : nullptr);
    TRY_VOID(gpus.load());
    ContainerStartHandler handler(
        {gpus, kube, *holders, *plugins, cdi, sealed, held ? held->enforcers() : Enforcers(),
         held ? &held->resized() : nullptr, held ? &held->mounts() : nullptr,
         held ? &held->unshared() : nullptr, &dialects},
        node, identity, start_rules(config));
    log_event(Event::started, {{"version", TESSERA_VERSION},
                               {"node", config.node},
                               {"identity", std::string(identity_name(identity))}});
    const std::jthread metrics =
        serve_metrics({.address = config.listen, .port = config.metrics_port}, gpus,
                      held ? &*held : nullptr, clock, stop);
    const auto holding = held ? held->start(stop) : std::vector<std::jthread>{};
    std::atomic<bool> is_registered = false;
    const auto registered = [&] {
        is_registered = true;
        gpus.check_soon();
    };
    const std::jthread kubelet([&] { plugins->run(handler, registered, stop); });
    std::jthread runtime;
    if (identity == Identity::nri) {
        runtime =
            std::jthread([&] { NriPlugin({.socket = config.nri_socket}).run(handler, stop); });
    }
    health.set([&]() -> Result<> {
        TRY_VOID(gpus.ready());
        if (!is_registered) return fail(Code::unavailable, "kubelet has not been reached yet");
        return handler.ready();
    });
    const std::jthread untainting =
        start_untainting(kube, {node, config.startup_taint}, health, gpus, monitoring.lists, stop);
    gpus.run(stop);
    health.set({});
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    return tessera::run_program(
        {"tessera-agent", "Publishes this node's GPUs and gives containers their GPU shares.",
         tessera::kRows},
        argc, argv, tessera::check_config, tessera::serve);
}

// tessera-agent: publishes the GPUs of one node, and completes the containers that use them.
#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_client.hpp"
#include "adapters/kubeconfig/kubeconfig.hpp"
#include "adapters/kubelet/device_checkpoint.hpp"
#include "adapters/kubelet/device_plugin_host.hpp"
#include "adapters/nri/nri_plugin.hpp"
#include "adapters/nvml/nvml_inventory.hpp"
#include "adapters/os/cdi_folder.hpp"
#include "adapters/os/system_clock.hpp"
#include "app/agent/inventory/driver_wait.hpp"
#include "app/agent/inventory/node_config_label.hpp"
#include "app/agent/start/container_start_handler.hpp"
#include "base/log.hpp"
#include "programs/agent/agent_config.hpp"
#include "programs/agent/agent_options.hpp"
#include "programs/agent/agent_port.hpp"
#include "programs/agent/metering.hpp"
#include "programs/agent/pod_watch.hpp"
#include "programs/agent/untainting.hpp"
#include "programs/common/run_program.hpp"
#include "programs/common/seal_file.hpp"

namespace tessera {
namespace {

// What the agent has before it knows the configuration of its node. It outlives run_on_node().
struct Parts {
    HttpClient& api;
    KubeClient& kube;
    const AllocationSeal* seal;
    const Dialects& dialects;
    Clock& clock;
    AgentHealth& health;
    NodeConfigLabel& label;
};

Result<> run_on_node(const Config& config, const std::string& config_name, const Parts& parts,
                     const std::stop_token& stop) {
    const NodeName node(config.node);
    auto& [api, kube, seal, dialects, clock, health, label] = parts;
    const Identity identity = identity_of(config, kube);
    TRY(const auto driver, open_nvml(config.driver_root));
    const auto plugins = make_device_plugin_host(
        {.folder = config.plugin_folder, .sockets = plugin_sockets(dialects)});
    const auto holders = make_device_checkpoint(config.plugin_folder, dialects);
    std::optional<ShareEnforcement> enforcement;
    if (!config.guard_library.empty()) {
        enforcement.emplace(enforcement_options(config, identity), api,
                            ShareEnforcementPorts{*driver, *holders, clock, node});
    }
    if (enforcement) TRY_VOID(enforcement->install());
    CdiFolder cdi(cdi_options(config));
    GpuMonitorOptions monitoring = monitor_options(config, identity, dialects, cdi);
    monitoring.publishing.on_labels = [&](const StringMap& labels) { return label.take(labels); };
    if (enforcement) enforcement->add_to(monitoring);
    GpuMonitor gpus(*driver, kube, *plugins, monitoring,
                    enforcement ? &enforcement->enforcers() : nullptr);
    TRY_VOID(gpus.load());
    const auto metering =
        open_metering(config, api, clock, [&gpus] { return gpus.inventory()->gpus; });
    ContainerStartPorts starting{gpus, kube, *holders, *plugins, cdi, seal};
    starting.dialects = &dialects;
    if (enforcement) enforcement->add_to(starting);
    ContainerStartHandler handler(starting, node, identity, start_rules(config));
    log_event(Event::started, {{"version", TESSERA_VERSION},
                               {"node", config.node},
                               {"identity", std::string(identity_name(identity))},
                               {"config", config_name}});
    const std::jthread metrics =
        serve_metrics({.address = config.listen, .port = config.metrics_port}, gpus,
                      enforcement ? &*enforcement : nullptr, metering.get(), clock, stop);
    const auto holding = enforcement ? enforcement->start(stop) : std::vector<std::jthread>{};
    const auto measuring = metering ? metering->start(stop) : std::vector<std::jthread>{};
    const std::jthread pods =
        start_pod_watch(kube, node, enforcement ? &*enforcement : nullptr, metering.get(), stop);
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
        TRY_VOID(label.ready());
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

Result<> serve(const ConfigValues& values, const std::stop_token& ends) {
    const Config common = typed(values);
    const NodeName node(common.node);
    TRY(const KubeConnection connection, connect_info({.path = common.kubeconfig}));
    TRY(const auto seal, load_seal(common.allocation_key_file));
    TRY(const Dialects dialects, all_dialects().only(common.dialects));
    HttpClient api(connection.endpoint);
    KubeClient kube(api, seal ? &*seal : nullptr, dialects);
    SystemClock clock;
    // Also stopped if the node has another configuration: kubelet then starts the container again.
    std::stop_source own;
    const std::stop_callback linked(ends, [&] { own.request_stop(); });
    const std::stop_token stop = own.get_token();
    NodeConfigLabel label(node_config_names(values), [&] { own.request_stop(); });
    AgentHealth health;
    const std::jthread answering = serve_health(
        {.address = common.health_listen.empty() ? common.listen : common.health_listen,
         .port = common.health_port},
        health, clock, stop);
    health.set([&]() -> Result<> {
        TRY_VOID(label.ready());
        return fail(Code::unavailable, "the agent is starting");
    });
    // The driver first, because that may take hours, in which the label may change.
    wait_for_driver(kube, node, clock, stop);
    const std::string name = label.wait(kube, node, clock, stop);
    if (stop.stop_requested()) return {};
    TRY(const ConfigValues chosen, with_node_config(values, name));
    return run_on_node(typed(chosen), name,
                       {api, kube, seal ? &*seal : nullptr, dialects, clock, health, label}, stop);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    return tessera::run_program(
        {"tessera-agent", "Publishes this node's GPUs and gives containers their GPU shares.",
         tessera::kRows},
        argc, argv, tessera::check_config, tessera::serve);
}

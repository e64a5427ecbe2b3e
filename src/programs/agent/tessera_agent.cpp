// tessera-agent: publishes the GPUs of one node, and completes the containers that use them.
#include <array>
#include <optional>
#include <thread>

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
#include "app/agent/start/container_start_handler.hpp"
#include "base/dns_name.hpp"
#include "base/log.hpp"
#include "domain/container_start/runtime_support.hpp"
#include "programs/agent/agent_port.hpp"
#include "programs/agent/share_keeping.hpp"
#include "programs/common/run_program.hpp"
#include "programs/common/seal_file.hpp"

namespace tessera {
namespace {

#define CONFIG_TABLE "programs/agent/agent.def"
#include "programs/common/typed_config.inc"

Result<> check(const ConfigValues& values) {
    const Config config = typed(values);
    if (config.node.empty()) {
        return fail(Code::invalid_argument,
                    "node: missing; give --node, or NODE_NAME from the pod's spec.nodeName");
    }
    if (!is_dns_name(config.node)) {
        return fail(Code::invalid_argument,
                    "node: \"" + config.node + "\" is not a valid node name (a-z, 0-9, - and .)");
    }
    TRY_VOID(all_dialects().only(config.dialects));
    TRY_VOID(check_choice("memory_unit", config.memory_unit, {"GiB", "MiB"}));
    TRY_VOID(check_choice("identity", config.identity, {"nri", "kubelet"}));
    TRY_VOID(check_choice("bypass_action", config.bypass_action, {"report", "kill"}));
    TRY_VOID(
        check_choice("privileged_containers", config.privileged_containers, {"allow", "refuse"}));
    if (!is_cdi_kind(config.cdi_kind)) {
        return fail(Code::invalid_argument, "cdi_kind: \"" + config.cdi_kind +
                                                "\" is not a kind (vendor/class, as in "
                                                "nvidia.com/gpu)");
    }
    if (!config.kubeconfig.empty()) TRY_VOID(connect_info({.path = config.kubeconfig}));
    return check_seal(config.allocation_key_file);
}

StartRules start_rules(const Config& config) {
    return {.environment_handlers = config.environment_handlers,
            .unrestricted_namespaces = {config.unrestricted_namespaces.begin(),
                                        config.unrestricted_namespaces.end()},
            .preload_merge_from = config.preload_merge_from,
            .refuse_privileged = config.privileged_containers == "refuse",
            .sandboxed_handlers = config.sandboxed_handlers};
}

Result<> serve(const ConfigValues& values, const std::stop_token& stop) {
    const Config config = typed(values);
    const NodeName node(config.node);
    const Identity identity =
        config.identity == identity_name(Identity::nri) ? Identity::nri : Identity::kubelet;
    TRY(const KubeConnection connection, connect_info({.path = config.kubeconfig}));
    TRY(const auto seal, load_seal(config.allocation_key_file));
    const AllocationSeal* sealed = seal ? &*seal : nullptr;
    TRY(const Dialects dialects, all_dialects().only(config.dialects));
    HttpClient api(connection.endpoint);
    KubeClient kube(api, sealed, dialects);
    wait_for_driver(kube, node, stop);
    if (stop.stop_requested()) return {};
    TRY(const auto driver, open_nvml(config.driver_root));
    const auto plugins = make_device_plugin_host(
        {.folder = config.plugin_folder, .sockets = plugin_sockets(dialects)});
    const bool is_guarded = !config.guard_library.empty();
    const auto holders = make_device_checkpoint(config.plugin_folder, dialects);
    SystemClock clock;
    std::optional<ShareKeeping> held;
    if (is_guarded) {
        held.emplace(
            GuardFolderOptions{.folder = config.guard_folder, .library = config.guard_library},
            BypassOptions{.allowance = mebibytes(config.context_mib),
                          .kills_them = config.bypass_action == "kill"},
            api, ShareKeepingPorts{*driver, *holders, clock, kube, node});
    }
    if (held) TRY_VOID(held->install());
    CdiFolder cdi({.folders = {config.static_cdi_folder, config.cdi_folder},
                   .dynamic = config.cdi_folder,
                   .vendor_kind = config.cdi_kind});
    GpuMonitor gpus(
        *driver, kube, *plugins,
        {.node = node,
         .unit = config.memory_unit == "GiB" ? MemoryUnit::gib : MemoryUnit::mib,
         .lists = {.slots_per_gpu = static_cast<int>(config.slots_per_gpu), .dialects = &dialects},
         .publishing = {.identity = config.identity,
                        .shares = is_guarded ? EnforcementMode::guard : EnforcementMode::none,
                        .dialects = &dialects},
         // If every container's runtime handler reads NVIDIA_VISIBLE_DEVICES, CDI devices are not
         // needed.
         .cdi = reads_visible_devices({}, config.environment_handlers) ? nullptr : &cdi,
         .enforcement_fault = held ? held->enforcers().fault() : ""},
        held ? &held->enforcers() : nullptr);
    TRY_VOID(gpus.load());
    ContainerStartHandler handler(
        {gpus, kube, *holders, *plugins, cdi, sealed, held ? held->enforcers() : Enforcers(),
         held ? &held->resized() : nullptr, held ? &held->mounts() : nullptr,
         held ? &held->unshared() : nullptr, &dialects},
        node, identity, start_rules(config));
    log_event(Event::started,
              {{"version", TESSERA_VERSION}, {"node", config.node}, {"identity", config.identity}});
    const std::jthread metrics =
        serve_metrics({.address = config.listen, .port = config.metrics_port}, gpus,
                      held ? &*held : nullptr, clock, stop);
    const auto holding = held ? held->start(stop) : std::vector<std::jthread>{};
    const std::jthread kubelet([&] { plugins->run(handler, [&] { gpus.check_soon(); }, stop); });
    std::jthread runtime;
    if (identity == Identity::nri) {
        runtime =
            std::jthread([&] { NriPlugin({.socket = config.nri_socket}).run(handler, stop); });
    }
    gpus.run(stop);
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    return tessera::run_program(
        {"tessera-agent", "Publishes this node's GPUs and gives containers their GPU shares.",
         tessera::kRows},
        argc, argv, tessera::check, tessera::serve);
}

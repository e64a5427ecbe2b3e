#include "programs/agent/agent_options.hpp"

#include "adapters/os/unix_socket.hpp"
#include "domain/container_start/runtime_support.hpp"

namespace tessera {

CdiFolderOptions cdi_options(const Config& config) {
    return {.folders = {config.static_cdi_folder, config.cdi_folder},
            .dynamic = config.cdi_folder,
            .vendor_kind = config.cdi_kind};
}

StartRules start_rules(const Config& config) {
    return {.environment_handlers = config.environment_handlers,
            .unrestricted_namespaces = {config.unrestricted_namespaces.begin(),
                                        config.unrestricted_namespaces.end()},
            .preload_merge_from = config.preload_merge_from,
            .refuse_privileged = config.privileged_containers == "refuse",
            .sandboxed_handlers = config.sandboxed_handlers};
}

GpuMonitorOptions monitor_options(const Config& config, Identity identity, const Dialects& dialects,
                                  CdiStore& cdi) {
    const bool is_guarded = !config.guard_library.empty();
    // If every container's runtime handler reads NVIDIA_VISIBLE_DEVICES, CDI devices are not
    // needed.
    const bool needs_cdi = !reads_visible_devices({}, config.environment_handlers);
    return {
        .node = NodeName(config.node),
        .unit = config.memory_unit == "GiB" ? MemoryUnit::gib : MemoryUnit::mib,
        .lists = {.slots_per_gpu = static_cast<int>(config.slots_per_gpu), .dialects = &dialects},
        .excluded = ExcludedGpus::parse(config.excluded_gpus).value(),  // checked
        .publishing = {.identity = std::string(identity_name(identity)),
                       .shares = is_guarded ? EnforcementMode::guard : EnforcementMode::none,
                       .dialects = &dialects},
        .cdi = needs_cdi ? &cdi : nullptr};
}

Identity identity_of(const Config& config, KubeApi& kube) {
    if (config.identity != "auto") return choose_identity(config.identity, false, "");
    const bool has_nri = UnixSocket::connect(config.nri_socket).has_value();
    const auto shown = kube.node_shows(NodeName(config.node), {});
    return choose_identity(config.identity, has_nri, shown ? shown->runtime : "");
}

EnforcementOptions enforcement_options(const Config& config, Identity identity) {
    return {.guard = {.folder = config.guard_folder, .library = config.guard_library},
            .mps = {config.mps_folder, config.mps_shared_memory == "true",
                    static_cast<int>(config.mps_evict_after)},
            // Only the runtime's hooks name a container's cgroup.
            .driver = {identity == Identity::nri ? config.cgroup_folder : "", config.driver_root},
            .bypass = {.allowance = mebibytes(config.context_mib),
                       .kills_them = config.bypass_action == "kill"}};
}

}  // namespace tessera

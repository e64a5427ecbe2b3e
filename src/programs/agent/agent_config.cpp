#include "programs/agent/agent_config.hpp"

#include "adapters/kube/kubeconfig.hpp"
#include "adapters/os/unix_socket.hpp"
#include "base/dns_name.hpp"
#include "domain/container_start/runtime_support.hpp"
#include "domain/dialect/dialect.hpp"
#include "programs/common/seal_file.hpp"

namespace tessera {

Result<> check_config(const ConfigValues& values) {
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
    TRY_VOID(check_choice("identity", config.identity, {"auto", "nri", "kubelet"}));
    TRY_VOID(check_choice("bypass_action", config.bypass_action, {"report", "kill"}));
    TRY_VOID(
        check_choice("privileged_containers", config.privileged_containers, {"allow", "refuse"}));
    if (!is_cdi_kind(config.cdi_kind)) {
        return fail(Code::invalid_argument, "cdi_kind: \"" + config.cdi_kind +
                                                "\" is not a kind (vendor/class, as in "
                                                "nvidia.com/gpu)");
    }
#ifndef __x86_64__
    // Its tests have run on no other processor.
    if (!config.guard_library.empty()) {
        return fail(Code::unsupported,
                    "guard_library: the guard is for x86-64 only; leave it empty "
                    "(guard.enabled=false of the Helm chart)");
    }
#endif
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

Identity identity_of(const Config& config, KubeApi& kube) {
    if (config.identity != "auto") return choose_identity(config.identity, false, "");
    const bool has_nri = UnixSocket::connect(config.nri_socket).has_value();
    const auto shown = kube.node_shows(NodeName(config.node), {});
    return choose_identity(config.identity, has_nri, shown ? shown->runtime : "");
}

}  // namespace tessera

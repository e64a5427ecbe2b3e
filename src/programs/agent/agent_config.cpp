#include "programs/agent/agent_config.hpp"

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "base/dns_name.hpp"
#include "domain/container_start/runtime_support.hpp"
#include "domain/dialect/dialect.hpp"
#include "domain/health/excluded_gpus.hpp"
#include "programs/common/seal_file.hpp"
#include "wire/tessera/node_configs_json.hpp"

namespace tessera {
namespace {

// What a configuration for single nodes may change, apart from the types of its values.
Result<> check_of_node(const Config& config) {
    TRY_VOID(ExcludedGpus::parse(config.excluded_gpus));
    if (!is_cdi_kind(config.cdi_kind)) {
        return fail(Code::invalid_argument, "cdi_kind: \"" + config.cdi_kind +
                                                "\" is not a kind (vendor/class, as in "
                                                "nvidia.com/gpu)");
    }
    return {};
}

// A folder without which something is off, and which needs the guard. `why`: for the error.
Result<> check_folder_beside_guard(const Config& config, const std::string& key,
                                   const std::string& folder, const std::string& example,
                                   const std::string& why) {
    if (folder.empty()) return {};
    if (!folder.starts_with('/')) {
        return fail(Code::invalid_argument,
                    key + ": \"" + folder + "\" is not an absolute path; write such as " + example);
    }
    if (!config.guard_library.empty()) return {};
    return fail(Code::invalid_argument, key + ": " + why +
                                            ", so it needs the guard; set guard_library too "
                                            "(guard.enabled of the Helm chart)");
}

Result<> check_enforcers(const Config& config) {
    TRY_VOID(check_choice("mps_shared_memory", config.mps_shared_memory, {"true", "false"}));
    TRY_VOID(check_folder_beside_guard(config, "cgroup_folder", config.cgroup_folder,
                                       "/sys/fs/cgroup",
                                       "the driver does not limit a container's compute"));
    return check_folder_beside_guard(config, "mps_folder", config.mps_folder, "/run/tessera/mps",
                                     "MPS does not limit a container's memory");
}

Result<ConfigValues> merged(const ConfigValues& values, const StringMap& first) {
    ConfigValues all(first.begin(), first.end());
    all.insert(values.begin(), values.end());
    return resolve_config(kRows, all, {}, [](const char*) { return nullptr; });
}

Result<> check_node_configs(const ConfigValues& values) {
    TRY(const NodeConfigs configs, read_node_configs(values.at("node_configs")));
    for (const auto& [name, first] : configs) {
        const auto all = merged(values, first);
        const auto checked = all ? check_of_node(typed(*all)) : Result<>(fail(all.error()));
        if (!checked) return fail(checked.error().in("node_configs: " + name));
    }
    return {};
}

}  // namespace

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
#ifndef __x86_64__
    // Its tests have run on no other processor.
    if (!config.guard_library.empty()) {
        return fail(Code::unsupported,
                    "guard_library: the guard is for x86-64 only; leave it empty "
                    "(guard.enabled=false of the Helm chart)");
    }
#endif
    TRY_VOID(check_enforcers(config));
    TRY_VOID(check_ledger_server(ledger_of(config)));
    TRY_VOID(check_of_node(config));
    TRY_VOID(check_node_configs(values));
    if (!config.kubeconfig.empty()) TRY_VOID(connect_info({.path = config.kubeconfig}));
    return check_seal(config.allocation_key_file);
}

std::set<std::string> node_config_names(const ConfigValues& values) {
    return names_of(read_node_configs(values.at("node_configs")).value_or(NodeConfigs()));
}

Result<ConfigValues> with_node_config(const ConfigValues& values, const std::string& name) {
    if (name.empty()) return values;
    TRY(const NodeConfigs configs, read_node_configs(values.at("node_configs")));
    const auto config = configs.find(name);
    if (config == configs.end())
        return fail(Code::internal, "node_configs: there is no configuration " + name);
    return merged(values, config->second);
}

LedgerServer ledger_of(const Config& config) {
    return {config.ledger_url, config.ledger_ca_file, config.ledger_token_file};
}

}  // namespace tessera

#include "domain/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "domain/cluster/node_labels.hpp"
#include "domain/doctor/custom_metrics_check.hpp"
#include "domain/doctor/injection_check.hpp"
#include "domain/doctor/judgement.hpp"
#include "domain/doctor/mps_check.hpp"
#include "domain/doctor/nominations_check.hpp"
#include "domain/doctor/others_check.hpp"
#include "domain/doctor/shares_check.hpp"
#include "domain/health/excluded_gpus.hpp"

namespace tessera::doctor {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr const char* kInstall =
    "install the Helm chart (docs/install/helm.md), or name the namespace with "
    "--tessera-namespace";
// In some clusters certificates are renewed by hand, so the warning comes two weeks before.
constexpr std::int64_t kSoon = 14 * kDay;

// The tag of an image; empty for "dev" and digests, which are no version.
std::string version_of(const std::string& image) {
    const std::size_t colon = image.rfind(':');
    if (colon == std::string::npos || image.find('/', colon) != std::string::npos) return "";
    std::string tag = image.substr(colon + 1);
    if (tag.starts_with('v')) tag.erase(0, 1);
    const bool is_version = tag.find('.') != std::string::npos && tag[0] >= '0' && tag[0] <= '9';
    return is_version ? tag : "";
}

bool is_live_and_asks(const Pod& pod) {
    return !pod.info.finished && !pod.info.node.empty() && asks_for_gpus(pod.info);
}

Judgement api_server(const Facts& facts) {
    if (!facts.api_version) {
        const Error& error = facts.api_version.error();
        const bool is_refused =
            error.code == Code::unauthenticated || error.code == Code::permission_denied;
        return {Status::failed, error.text,
                is_refused
                    ? "the API server does not accept the kubeconfig's credentials; get new ones"
                    : "is the cluster up, and is this the right --context?"};
    }
    return {Status::ok, fmt::format("{} at {}", *facts.api_version, facts.server), ""};
}

Judgement controller(const Facts& facts) {
    const std::string log = fmt::format(
        "kubectl -n {} describe deployment,pod -l app.kubernetes.io/component=controller",
        facts.ns);
    if (!facts.controller) {
        if (facts.controller.error().code != Code::not_found)
            return unread(facts.controller.error());
        return {Status::failed, fmt::format("no Deployment tessera-controller in {}", facts.ns),
                kInstall};
    }
    const Workload& it = *facts.controller;
    if (it.ready == 0)
        return {Status::failed, fmt::format("0 of {} controllers are ready", it.wanted), log};
    const std::string version = version_of(it.image);
    if (!version.empty() && version != facts.own_version) {
        return {Status::warning,
                fmt::format("the controller is {}, this program {}", version, facts.own_version),
                "use the tessera of the controller's release"};
    }
    if (it.ready < it.wanted) {
        return {Status::warning, fmt::format("{} of {} controllers are ready", it.ready, it.wanted),
                log};
    }
    if (it.unavailable > 0) {
        return {Status::warning,
                fmt::format("{} of {} controllers are ready, and {} of an update {} not", it.ready,
                            it.wanted, it.unavailable, it.unavailable == 1 ? "is" : "are"),
                log + " says why; helm rollback tessera returns to the release before"};
    }
    return {
        Status::ok,
        fmt::format("{} of {} ready, {}", it.ready, it.wanted,
                    version.empty() ? fmt::format("image {} names no version", it.image) : version),
        ""};
}

// With a wrong namespace, the fix of a missing object would make a second installation.
Judgement not_installed(const Facts& facts) {
    return {Status::skipped, fmt::format("Tessera is not installed in {}", facts.ns), ""};
}

Judgement leader(const Facts& facts) {
    if (!facts.lease) {
        if (facts.lease.error().code != Code::not_found) return unread(facts.lease.error());
        if (is_not_installed(facts)) return not_installed(facts);
        return {Status::failed,
                "there is no Lease: controllers wait for one, and no GPU pod is bound",
                fmt::format("helm upgrade tessera CHART -n {} --reuse-values creates it, with the "
                            "version of the chart that is installed",
                            facts.ns)};
    }
    const Lease& lease = facts.lease->lease;
    const std::string log = fmt::format(
        "kubectl -n {} logs -l app.kubernetes.io/component=controller (events lease_error, "
        "api_error)",
        facts.ns);
    if (lease.holder.empty())
        return {Status::failed, "no controller holds the Lease: no GPU pod is bound", log};
    if (!facts.lease->renewed) {
        return {Status::failed,
                fmt::format("{} holds the Lease and does not renew it", lease.holder), log};
    }
    return {Status::ok, fmt::format("{} holds the Lease and renews it", lease.holder), ""};
}

// Why the agent has no configuration on this node; empty if it has one, or needs none.
std::string config_fault(const Node& node, const Workload& agents) {
    if (node.agent_config.empty() || !agents.node_configs) return {};
    const std::set<std::string>& names = *agents.node_configs;
    if (names.contains(node.agent_config)) return {};
    return fmt::format("{}: its label {}", node.inventory.name.str(),
                       unknown_config_text(node.agent_config, names));
}

// Adds what is wrong with a node that has GPUs or should have an agent; nothing if all is well.
void check_node(const Node& node, const Facts& facts, Faults& out) {
    const std::string& name = node.inventory.name.str();
    const auto look_at_pod = fmt::format(
        "kubectl -n {0} describe daemonset,pod -l app.kubernetes.io/component=agent says why there "
        "is no pod; if there is one, its logs say what is missing (kubectl -n {0} logs POD): the "
        "driver, or kubelet's socket",
        facts.ns);
    if (!node.wants_agent) {
        out.add(
            fmt::format("{}: its GPUs are published, but the DaemonSet does not select it", name),
            fmt::format("label it again (kubectl label node NODE {}=true), or drain it: pods "
                        "that start there get no GPU",
                        kAgentLabel));
    } else if (auto fault = config_fault(node, *facts.agents); !fault.empty()) {
        out.add(std::move(fault),
                fmt::format("correct the label (kubectl label node NODE --overwrite {}=NAME), or "
                            "add the configuration to the chart's agent.nodeConfigs",
                            kAgentConfigLabel));
    } else if (!node.agent_ready) {
        out.add(fmt::format("{}: no agent is ready there", name), look_at_pod);
    } else if (!node.has_report) {
        out.add(fmt::format("{}: the agent has published no GPUs", name), look_at_pod);
    } else if (!node.inventory.fault.empty()) {
        out.add(fmt::format("{}: its report cannot be read: {}", name, node.inventory.fault),
                "the agent writes its report again within a minute; if the fault stays, the agent "
                "and this program are of different releases: use the same release");
    }
}

// A node is closed to pods by a startup taint that its ready agent should have removed. The chart's
// default key counts too: the agents may have another one.
std::optional<Judgement> closed_nodes(const Facts& facts) {
    Faults closed;
    for (const Node& node : *facts.nodes) {
        if (!node.agent_ready || !node.has_report) continue;
        for (const std::string& key : node.taints) {
            if (key != kStartupTaint && (key.empty() || key != facts.agents->startup_taint))
                continue;
            closed.add(fmt::format("{} has the startup taint {} and a ready agent",
                                   node.inventory.name.str(), key));
        }
    }
    if (!closed.any()) return std::nullopt;
    return Judgement{
        Status::warning, closed.text(),
        fmt::format(
            "agents remove the taint {} within two minutes; if the node has another one, set "
            "the chart's agent.startupTaint, otherwise the agent's log says why not (event "
            "api_error)",
            facts.agents->startup_taint)};
}

// Every node has an agent: checks that those with a port answer on it.
Judgement answers(const Facts& facts, int agents) {
    std::string found = fmt::format("{} GPU nodes, an agent on each", agents);
    if (!facts.asked) return {Status::ok, std::move(found), ""};
    Faults silent;
    for (const auto& [node, reason] : facts.asked->silent)
        silent.add(fmt::format("{}: {}", node.str(), reason));
    if (silent.any()) {
        return {Status::warning, "an agent that should listen does not answer: " + silent.text(),
                fmt::format(
                    "kubectl -n {} logs -l app.kubernetes.io/component=agent --prefix (event "
                    "metrics_off) "
                    "says why; until then tessera top and Prometheus do not show its containers",
                    facts.ns)};
    }
    if (facts.asked->answered > 0) found += fmt::format("; {} answered", facts.asked->answered);
    return {Status::ok, std::move(found), ""};
}

Judgement agents(const Facts& facts) {
    if (!facts.agents) {
        if (facts.agents.error().code != Code::not_found) return unread(facts.agents.error());
        return {Status::failed, fmt::format("no DaemonSet tessera-agent in {}", facts.ns),
                kInstall};
    }
    if (!facts.nodes) return unread(facts.nodes.error());
    if (!facts.pods) return unread(facts.pods.error());  // which tell where an agent is ready
    if (!facts.agents->node_configs) {
        return {Status::failed, facts.agents->node_configs.error().text,
                "correct the chart's agent.nodeConfigs: no agent starts with it"};
    }
    Faults faults;
    int count = 0;
    for (const Node& node : *facts.nodes) {
        const bool has_gpus = node.has_report || node.slots > 0;
        if (!node.wants_agent && !has_gpus) continue;
        ++count;
        check_node(node, facts, faults);
    }
    if (faults.any()) return {Status::failed, faults.text(), faults.fixes()};
    if (count == 0) {
        return {Status::failed, "no node has the label of GPU nodes",
                fmt::format("kubectl label node NODE {}=true", kAgentLabel)};
    }
    const std::string agent = version_of(facts.agents->image);
    const std::string other = facts.controller ? version_of(facts.controller->image) : "";
    if (!agent.empty() && !other.empty() && agent != other) {
        return {Status::warning, fmt::format("agents are {}, the controller is {}", agent, other),
                "use one release for both"};
    }
    if (auto closed = closed_nodes(facts)) return *std::move(closed);
    return answers(facts, count);
}

Judgement gpus(const Facts& facts) {
    if (!facts.nodes) return unread(facts.nodes.error());
    Faults sick;
    Faults unshared;
    Faults unoffered;
    std::size_t count = 0;
    std::size_t excluded = 0;
    std::size_t unwatched = 0;  // their agent is not ready, so the report may be old
    for (const Node& node : *facts.nodes) {
        const std::string& name = node.inventory.name.str();
        if (!node.has_report) continue;
        if (facts.pods && !node.agent_ready) {
            unwatched += node.inventory.gpus.size();
            continue;
        }
        count += node.inventory.gpus.size();
        bool any_usable = false;
        for (const Gpu& gpu : node.inventory.gpus) {
            any_usable |= gpu.usable();
            if (gpu.usable()) continue;
            if (gpu.reason == kExcludedReason) {
                ++excluded;
                continue;
            }
            (gpu.condition == GpuCondition::unhealthy ? sick : unshared)
                .add(
                    fmt::format("{} GPU {} ({}): {}", name, gpu.index, gpu.uuid.str(), gpu.reason));
        }
        if (any_usable && node.slots == 0)
            unoffered.add(fmt::format("{}: kubelet offers 0 tessera.dev/gpu-share", name));
    }
    if (unoffered.any()) {
        return {Status::failed, unoffered.text(),
                fmt::format(
                    "kubectl -n {} logs -l app.kubernetes.io/component=agent (events plugin_error, "
                    "plugin_registered); check that kubelet has registered its device plugins",
                    facts.ns)};
    }
    if (sick.any()) {
        return {Status::warning, sick.text(),
                "drain the node, have the agent close the driver (label "
                "tessera.dev/release-driver=true), and reset the GPU (nvidia-smi --gpu-reset; "
                "docs/operations.md), or replace it; it is used again once the driver reports "
                "that it is healthy"};
    }
    if (unshared.any()) {
        return {Status::warning, "not shareable: " + unshared.text(),
                "this is no fault: to share these GPUs, do what the reason says "
                "(docs/limits.md, GPUs that are not shared)"};
    }
    std::string found =
        excluded > 0
            ? fmt::format("{} GPUs, {} of them excluded, the others healthy", count, excluded)
            : fmt::format("{} GPUs, all healthy", count);
    if (unwatched == 0) return {Status::ok, std::move(found), ""};
    return {Status::warning,
            fmt::format("{}; {} more are on nodes without a ready agent, so their state is not "
                        "known",
                        found, unwatched),
            "see the check agents"};
}

// Whether a node without a report, and without a place for an agent, has the pod: another product
// assigns the GPUs there, as gpu-manager does with its own resources.
bool is_elsewhere(const Facts& facts, const Pod& pod) {
    if (!facts.nodes) return false;
    const auto node = std::ranges::find(*facts.nodes, pod.info.node,
                                        [](const Node& n) { return n.inventory.name; });
    return node != facts.nodes->end() && !node->has_report && !node->wants_agent &&
           node->inventory.source != InventorySource::legacy;
}

// An API client cannot read kube-scheduler's configuration file, so the bound pods are the
// evidence.
Judgement routing(const Facts& facts) {
    constexpr const char* kFix =
        "create these pods again: with mode=scheduler through the webhook, or with schedulerName "
        "and tessera.dev/gpu-share; with mode=extender after every kube-scheduler has the "
        "configuration in the ConfigMap tessera-scheduler (docs/install/extender-mode.md)";
    if (!facts.pods) return unread(facts.pods.error());
    Faults past;
    int through = 0;
    for (const Pod& pod : *facts.pods) {
        if (!is_live_and_asks(pod)) continue;
        if (own_allocation(pod.info) != nullptr) {
            ++through;
        } else if (!pod.info.allocation && !pod.info.legacy && !is_elsewhere(facts, pod)) {
            past.add(fmt::format("{} (schedulerName {}) is on {} without an allocation",
                                 pod.info.name.str(), pod.scheduler, pod.info.node.str()));
        }
    }
    if (past.any()) {
        return {Status::failed, past.text() + ": kube-scheduler did not call Tessera for it",
                through > 0
                    ? "it did for other pods, so find out what bound these (spec.nodeName in the "
                      "manifest, another scheduler, a second kube-scheduler without our config), "
                      "and create them again"
                    : kFix};
    }
    if (through > 0) {
        return {Status::ok,
                fmt::format("{} GPU pods came through Tessera, none bypassed it", through), ""};
    }
    if (facts.scheduler_commands && !facts.scheduler_commands->empty()) {
        const auto lacks_config = [](const std::vector<std::string>& command) {
            return std::ranges::none_of(
                command, [](const std::string& word) { return word.starts_with("--config"); });
        };
        if (std::ranges::any_of(*facts.scheduler_commands, lacks_config)) {
            return {Status::failed,
                    "a kube-scheduler runs without --config, so it calls no extender", kFix};
        }
        return {Status::skipped,
                "kube-scheduler has a --config, but no GPU pod is bound that shows whether it "
                "names Tessera",
                "run one GPU pod and ask again"};
    }
    return {Status::skipped,
            "no GPU pod is bound, and kube-scheduler's configuration cannot be seen from here",
            "run one GPU pod and ask again"};
}

// The first GPU of the pod that its node's agent no longer reports: it was replaced, or its number
// changed with a restart. The pod's containers never start again there. Null if all are reported,
// or if the node's GPUs are not known.
const GpuUuid* gone_gpu(const Facts& facts, const Allocation& allocation) {
    if (!facts.nodes) return nullptr;
    const auto node = std::ranges::find(*facts.nodes, allocation.node,
                                        [](const Node& each) { return each.inventory.name; });
    if (node == facts.nodes->end() || !node->has_report || !node->inventory.fault.empty())
        return nullptr;
    for (const ContainerAllocation& container : allocation.containers) {
        for (const GpuShare& share : container.gpus) {
            if (find_gpu(node->inventory.gpus, share.uuid) == nullptr) return &share.uuid;
        }
    }
    return nullptr;
}

Judgement allocations(const Facts& facts) {
    if (!facts.pods) return unread(facts.pods.error());
    Faults bad;
    int good = 0;
    int not_ours = 0;  // by the key
    for (const Pod& pod : *facts.pods) {
        if (!is_live_and_asks(pod) || !pod.info.allocation) continue;
        const std::string name = pod.info.name.str();
        if (!*pod.info.allocation) {
            not_ours += pod.info.allocation->error().code == Code::permission_denied ? 1 : 0;
            bad.add(fmt::format("{}: {}", name, pod.info.allocation->error().text));
        } else if (own_allocation(pod.info) == nullptr) {
            bad.add(fmt::format("{}: its allocation is for another pod or another node", name));
        } else if (!pod.has_signature && facts.key && *facts.key) {
            bad.add(fmt::format("{}: its allocation is not signed", name));
        } else if (const GpuUuid* gone = gone_gpu(facts, **pod.info.allocation)) {
            bad.add(fmt::format("{}: GPU {} is no longer on node {}", name, gone->str(),
                                pod.info.node.str()));
        } else {
            ++good;
        }
    }
    if (not_ours > 1 && good == 0) {
        return {Status::failed, bad.text(),
                "no signature matches the key in Secret tessera-allocation-key: if the key was "
                "replaced, add the old one to the Secret as a further line and restart the "
                "controller and the agents; if the old one is lost, delete these pods"};
    }
    if (bad.any()) {
        return {Status::failed, bad.text(),
                "delete these pods; their containers do not start again with such an allocation"};
    }
    const bool checked = facts.key && *facts.key && (*facts.key)->has_value();
    return {Status::ok,
            fmt::format("{} allocations, {}", good,
                        checked ? "all signed with the key" : "signatures not checked"),
            ""};
}

Judgement key(const Facts& facts) {
    const std::string make = fmt::format(
        "openssl rand -hex 32 | kubectl -n {} create secret generic tessera-allocation-key "
        "--from-file=keys=/dev/stdin",
        facts.ns);
    for (const auto* workload : {&facts.controller, &facts.agents}) {
        if (!*workload || (*workload)->signs) continue;
        const char* name = workload == &facts.controller ? "controller" : "agents";
        return {Status::warning,
                fmt::format("the {} run without --allocation-key-file: a user that may edit a "
                            "pod's annotations can take any GPU",
                            name),
                "install the Helm chart, which sets that argument and creates the Secret "
                "tessera-allocation-key (docs/install/helm.md)"};
    }
    if (!facts.key) return unread(facts.key.error());
    if (is_not_installed(facts)) return not_installed(facts);
    if (!*facts.key) {
        return {Status::failed,
                "no Secret tessera-allocation-key: a controller or agent that restarts does not "
                "start",
                make +
                    "; if pods run already, it must be the same key as before, or they cannot "
                    "start again"};
    }
    if (!**facts.key) return {Status::failed, (**facts.key).error().text, make};
    return {Status::ok, "the Secret exists, and its key is valid", ""};
}

Judgement admission(const Facts& facts) {
    if (!facts.policies) return unread(facts.policies.error());
    Faults faults;
    for (const Policy& policy : *facts.policies) {
        if (!policy.exists) {
            faults.add(fmt::format("ValidatingAdmissionPolicy {} is missing", policy.name));
        } else if (!policy.denies) {
            faults.add(fmt::format("ValidatingAdmissionPolicy {} has no binding that denies",
                                   policy.name));
        }
    }
    if (faults.any()) {
        return {Status::failed, faults.text(),
                "helm upgrade with admissionPolicies=true (Kubernetes 1.30; SECURITY.md says what "
                "they protect)"};
    }
    return {Status::ok, fmt::format("{} policies, all bound", facts.policies->size()), ""};
}

Judgement certificates(const Facts& facts) {
    if (!facts.certificates) return unread(facts.certificates.error());
    Faults ended;
    Faults ending;
    std::int64_t first = 0;
    for (const Certificate& certificate : *facts.certificates) {
        if (!certificate.ends_s) {
            ended.add(fmt::format("{}: {}", certificate.where, certificate.ends_s.error().text));
            continue;
        }
        const std::int64_t left = *certificate.ends_s - facts.now_s;
        if (left <= 0)
            ended.add(fmt::format("{} expired {} days ago", certificate.where, -left / kDay));
        if (left > 0 && left < kSoon)
            ending.add(fmt::format("{} expires in {} days", certificate.where, left / kDay));
        first = first == 0 ? left : std::min(first, left);
    }
    constexpr const char* kFix =
        "renew it (kubeadm certs renew, or its issuer); controllers reload their Secret by "
        "themselves, kube-scheduler reads its files when it starts";
    if (ended.any()) return {Status::failed, ended.text(), kFix};
    if (ending.any()) return {Status::warning, ending.text(), kFix};
    if (facts.certificates->empty()) {
        return {Status::ok,
                "no Secret of type kubernetes.io/tls, no certificate in your kubeconfig", ""};
    }
    return {
        Status::ok,
        fmt::format("{} certificate{}, the first expires in {} days", facts.certificates->size(),
                    facts.certificates->size() == 1 ? "" : "s", first / kDay),
        ""};
}

struct Row {
    std::string_view name;
    Judgement (*judge)(const Facts&);
};
constexpr auto kChecks = std::to_array<Row>({
#define CHECK(name, good) {#name, &name},
#include "domain/doctor/checks.def"
#undef CHECK
});

}  // namespace

std::string_view status_name(Status status) {
    constexpr std::array<std::string_view, 4> kNames = {"ok", "skipped", "warning", "failed"};
    return kNames.at(static_cast<std::size_t>(status));
}

std::vector<Finding> examine(const Facts& facts) {
    std::vector<Finding> out;
    for (const Row& row : kChecks) {
        // Nothing is known of a cluster that does not answer.
        if (!facts.api_version && !out.empty()) break;
        Judgement judged = row.judge(facts);
        out.push_back({row.name, judged.status, std::move(judged.found), std::move(judged.fix)});
    }
    return out;
}

}  // namespace tessera::doctor

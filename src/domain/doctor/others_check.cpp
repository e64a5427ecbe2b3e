#include "domain/doctor/others_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <string_view>

#include "domain/doctor/injection_check.hpp"
#include "domain/request/foreign_resources.hpp"

namespace tessera::doctor {
namespace {

enum class Reach { anywhere, its_node };

struct ForeignProgram {
    std::string_view image;
    std::string_view only;
    std::string_view except;
    Reach reach;
    const char* what;
    std::string_view fix;
};
constexpr auto kPrograms = std::to_array<ForeignProgram>({
#define FOREIGN_PROGRAM(image, only, except, reach, what, fix) \
    {image, only, except, Reach::reach, what, fix},
#include "domain/doctor/foreign_programs.def"
#undef FOREIGN_PROGRAM
});

struct ForeignScheduler {
    std::string_view name;
    std::string_view product;
};
constexpr auto kSchedulers = std::to_array<ForeignScheduler>({
#define FOREIGN_SCHEDULER(name, product) {name, product},
#include "domain/doctor/foreign_schedulers.def"
#undef FOREIGN_SCHEDULER
});

struct ForeignLabel {
    std::string_view key;
    std::string_view value;
    std::string_view image;
    std::string_view product;
    std::string_view fix;
};
constexpr auto kLabels = std::to_array<ForeignLabel>({
#define FOREIGN_LABEL(key, value, image, product, fix) {key, value, image, product, fix},
#include "domain/doctor/foreign_labels.def"
#undef FOREIGN_LABEL
});

// The driver whose ResourceSlices offer NVIDIA's GPUs (kubernetes-sigs/dra-driver-nvidia-gpu).
constexpr std::string_view kDraDriver = "gpu.nvidia.com";
// KAI keeps a pod here for each GPU that it shares (pkg/common/constants).
constexpr std::string_view kKaiReservations = "kai-resource-reservation";

// An image without tag and digest, between slashes: "/registry/name/".
std::string path_of(const std::string& image) {
    const std::string path = image.substr(0, image.find('@'));
    const std::size_t slash = path.rfind('/');
    const std::size_t colon = path.find(':', slash == std::string::npos ? 0 : slash);
    return "/" + path.substr(0, colon) + "/";
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

bool has_any(std::string_view text, std::string_view parts) {
    return !parts.empty() && std::ranges::any_of(parts | std::views::split('|'), [&](auto part) {
        return has(text, std::string_view(part.begin(), part.end()));
    });
}

bool runs(const std::vector<Program>& programs, const ForeignProgram& foreign) {
    return std::ranges::any_of(programs, [&](const Program& program) {
        return has(path_of(program.image), foreign.image) && has(program.command, foreign.only) &&
               !has_any(program.command, foreign.except);
    });
}

bool is_live(const Pod& pod) {
    return !pod.info.finished && !pod.info.node.empty();
}

void check_nodes(const Facts& facts, const std::set<NodeName>& ours, Faults& out) {
    constexpr std::string_view kFix = "keep the device plugin that offers them off this node";
    const auto is_installed = [&](std::string_view image) {
        return facts.pods && std::ranges::any_of(*facts.pods, [&](const Pod& pod) {
                   return is_live(pod) &&
                          std::ranges::any_of(pod.programs, [&](const Program& program) {
                              return has(path_of(program.image), image);
                          });
               });
    };
    for (const Node& node : *facts.nodes) {
        const std::string& name = node.inventory.name.str();
        if (!ours.contains(node.inventory.name)) continue;
        for (const auto& [resource, amount] : node.foreign_amounts) {
            out.add(fmt::format("{} also offers {} {} ({}): the same GPUs", name, amount, resource,
                                product_of_resource(resource)),
                    kFix);
        }
        for (const ForeignLabel& label : kLabels) {
            const auto at = node.labels.find(label.key);
            const bool is_set =
                at != node.labels.end() && (label.value.empty() || at->second == label.value);
            if (!is_set || !is_installed(label.image)) continue;
            out.add(fmt::format("{} has the label {}={}, by which {} takes nodes", name, label.key,
                                at->second, label.product),
                    label.fix);
        }
    }
}

void check_dra(const Facts& facts, const std::set<NodeName>& ours, Faults& out) {
    for (const Slice& slice : facts.slices.value_or(std::vector<Slice>())) {
        if (slice.driver != kDraDriver || !ours.contains(slice.node)) continue;
        out.add(fmt::format("{} also offers its GPUs by ResourceSlices of {}", slice.node.str(),
                            slice.driver),
                "set resources.gpus.enabled=false in the chart of NVIDIA's DRA driver");
    }
    for (const Claim& claim : facts.claims.value_or(std::vector<Claim>())) {
        if (claim.driver != kDraDriver || !ours.contains(NodeName(claim.pool))) continue;
        out.add(fmt::format("ResourceClaim {} has a GPU of {} ({}), which Tessera does not count",
                            claim.name, claim.pool, claim.driver),
                "delete the pods of these ResourceClaims, then the claims");
    }
}

void check_programs(const Pod& pod, const std::set<NodeName>& ours, Faults& out) {
    if (!is_live(pod)) return;
    const bool is_here = ours.contains(pod.info.node);
    if (is_here && pod.info.name.ns == kKaiReservations) {
        out.add(fmt::format("KAI has a GPU of {} reserved ({})", pod.info.node.str(),
                            pod.info.name.str()),
                "give KAI nodes of its own, with a taint");
    }
    for (const ForeignProgram& foreign : kPrograms) {
        if (!is_here && foreign.reach == Reach::its_node) continue;
        if (!runs(pod.programs, foreign)) continue;
        out.add(fmt::format("{} ({}) runs on {}", foreign.what, pod.info.name.str(),
                            pod.info.node.str()),
                foreign.fix);
    }
}

void check_requests(const Pod& pod, Faults& out) {
    if (pod.info.finished || !asks_for_gpus(pod.info)) return;
    if (!pod.foreign_requests.empty()) {
        out.add(fmt::format("{} requests {} beside Tessera's resources", pod.info.name.str(),
                            fmt::join(pod.foreign_requests, ", ")),
                "let each pod request GPUs of one product");
    }
    for (const ForeignScheduler& scheduler : kSchedulers) {
        if (pod.scheduler != scheduler.name) continue;
        out.add(fmt::format("{} requests Tessera's resources and has schedulerName {}: {} does not "
                            "place it on GPUs of Tessera",
                            pod.info.name.str(), scheduler.name, scheduler.product),
                "create these pods again without spec.schedulerName");
    }
}

void check_operators(const Facts& facts, Faults& out) {
    const std::string agents = facts.agents ? facts.agents->runtime_class : "";
    const std::string tenants = facts.controller ? facts.controller->tenants_runtime_class : "";
    for (const GpuOperator& found : facts.operators.value_or(std::vector<GpuOperator>())) {
        for (const std::string& needed : {agents, tenants}) {
            if (!found.has_nri_plugin || !is_missing_class(facts, needed)) continue;
            out.add(fmt::format("the GPU Operator (ClusterPolicy {}) has cdi.nriPluginEnabled: it "
                                "removes the RuntimeClass {}, which Tessera's pods need",
                                found.policy, needed),
                    "set cdi.nriPluginEnabled=false in the chart of the GPU Operator");
        }
        const bool has_driver = agents.empty() || facts.agents->is_privileged;
        if (found.refuses_environment && (!has_driver || !tenants.empty())) {
            out.add(fmt::format("the GPU Operator (ClusterPolicy {}) gives containers no GPU by "
                                "NVIDIA_VISIBLE_DEVICES, so {}",
                                found.policy,
                                has_driver
                                    ? fmt::format("pods with the RuntimeClass {} get none", tenants)
                                    : "the agents get no driver"),
                    "remove ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED from the "
                    "Operator's toolkit.env, or set agent.driver.privileged=true and leave "
                    "webhook.runtimeClassName empty, with CDI specifications on the nodes");
        }
    }
}

}  // namespace

Judgement others(const Facts& facts) {
    if (!facts.nodes) return unread(facts.nodes.error());
    std::set<NodeName> ours;
    for (const Node& node : *facts.nodes) {
        if (node.has_report || node.wants_agent) ours.insert(node.inventory.name);
    }
    Faults conflicts;
    check_nodes(facts, ours, conflicts);
    check_dra(facts, ours, conflicts);
    for (const Pod& pod : facts.pods.value_or(std::vector<Pod>())) {
        check_programs(pod, ours, conflicts);
        check_requests(pod, conflicts);
    }
    check_operators(facts, conflicts);
    if (conflicts.any()) {
        return {Status::failed, conflicts.text(),
                conflicts.fixes() + " (docs/install/beside-others.md)"};
    }
    if (!facts.pods) return unread(facts.pods.error());
    if (!facts.slices) return unread(facts.slices.error());
    if (!facts.claims) return unread(facts.claims.error());
    if (!facts.operators) return unread(facts.operators.error());
    return {Status::ok, "no other plugin on our nodes, no other extender", ""};
}

const char* other_gpu_program(const std::vector<Program>& programs) {
    const auto* at = std::ranges::find_if(
        kPrograms, [&](const ForeignProgram& foreign) { return runs(programs, foreign); });
    return at == kPrograms.end() ? nullptr : at->what;
}

}  // namespace tessera::doctor

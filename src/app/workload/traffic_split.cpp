#include "app/workload/traffic_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

namespace tessera {
namespace {

using workload::GatewayName;
using workload::ServicePort;
using workload::ServingStatus;
using workload::SharedService;
using workload::TrafficRoute;
using workload::VersionWeight;

// A job and what it gets.
struct Part {
    const ServingStatus* job = nullptr;
    int percent = 0;
};

std::string listed(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

Error no_such_job(const std::string& ns, const std::string& name) {
    return {Code::not_found,
            fmt::format("--name: there is no serving job {} in namespace {}; tessera serve list "
                        "shows those that exist",
                        name, ns)};
}

std::string name_of(const ServingStatus& job) {
    return job.id.version.empty() ? "\"\"" : job.id.version;
}

Result<Part> part_of(const VersionWeight& weight, const std::vector<ServingStatus>& jobs) {
    Part out{.job = nullptr, .percent = weight.percent};
    std::vector<std::string> versions;
    for (const ServingStatus& job : jobs) {
        versions.push_back(name_of(job));
        if (job.id.version != weight.version) continue;
        if (out.job != nullptr) {
            return fail(Code::conflict,
                        fmt::format("-v: {0} and {1} have the name {2} and the version \"{3}\"; "
                                    "serve one of them by another version",
                                    out.job->object, job.object, job.id.name, weight.version));
        }
        out.job = &job;
    }
    if (out.job == nullptr) {
        return fail(Code::not_found,
                    fmt::format("-v: {} has no version \"{}\"; it has {}", jobs.front().id.name,
                                weight.version, listed(versions)));
    }
    if (out.percent > 0 && !out.job->has_service) {
        return fail(Code::conflict,
                    fmt::format("-v: version \"{}\" of {} has no Service; run the command that "
                                "made it again",
                                weight.version, jobs.front().id.name));
    }
    return out;
}

// Those that get traffic, in the order of the request.
Result<std::vector<Part>> parts_of(const SplitRequest& request,
                                   const std::vector<ServingStatus>& jobs) {
    std::vector<Part> out;
    for (const VersionWeight& weight : request.weights) {
        TRY(const Part part, part_of(weight, jobs));
        if (part.percent > 0) out.push_back(part);
    }
    return out;
}

std::vector<workload::SplitOwner> owners_of(const std::vector<ServingStatus>& jobs) {
    std::vector<workload::SplitOwner> out;
    out.reserve(jobs.size());
    for (const ServingStatus& job : jobs)
        out.push_back({job.object, job.uid});
    return out;
}

// A new version may still be starting, so this is no error.
void warn_of_unready(const std::vector<Part>& parts, std::string_view what,
                     const PrintLine& print) {
    for (const Part& part : parts) {
        if (part.job->available > 0) continue;
        print(
            fmt::format("Version {} has no ready pod: {} until one is ready; tessera serve get "
                        "{} -v {} shows why",
                        name_of(*part.job), what, part.job->id.name, name_of(*part.job)));
    }
}

// ---- by an HTTPRoute

std::vector<std::string> texts_of(const std::vector<GatewayName>& gateways) {
    std::vector<std::string> out;
    out.reserve(gateways.size());
    for (const GatewayName& gateway : gateways)
        out.push_back(gateway.name + "/" + gateway.ns);
    return out;
}

// Whether the Gateway is there, as far as the user may know.
Result<> check_gateway(TrafficSplits& splits, const SplitRequest& request) {
    const auto all = splits.gateways(request.gateway->ns);
    if (!all && all.error().code == Code::permission_denied) return {};
    if (!all && all.error().code == Code::not_found) {
        return fail(Code::not_found,
                    "--gateway: the cluster has no Gateway API (gateway.networking.k8s.io/v1); "
                    "leave it out");
    }
    if (!all) return fail(all.error());
    if (std::ranges::find(*all, *request.gateway) != all->end()) return {};
    return fail(Code::not_found,
                fmt::format("--gateway: there is no Gateway {} in namespace {}; you can see: {}",
                            request.gateway->name, request.gateway->ns,
                            all->empty() ? "none" : listed(texts_of(*all))));
}

// The route that there is. Without --gateway a user who may not read routes has none.
Result<std::optional<TrafficRoute>> read_route(TrafficSplits& splits, const SplitRequest& request,
                                               std::span<const ServingStatus> jobs) {
    auto route = splits.route(request.name, jobs);
    const bool has_none =
        !route && !request.gateway &&
        (route.error().code == Code::not_found || route.error().code == Code::permission_denied);
    if (has_none) return std::optional<TrafficRoute>();
    return route;
}

Result<std::vector<workload::RouteBackend>> backends_of(const std::vector<Part>& parts) {
    std::vector<workload::RouteBackend> out;
    for (const Part& part : parts) {
        const auto port =
            std::ranges::find(part.job->ports, workload::kRestPort, &ServicePort::name);
        if (port == part.job->ports.end()) {
            return fail(Code::invalid_argument,
                        fmt::format("-v: version {} has no REST port, and an HTTPRoute splits "
                                    "HTTP alone; leave out --gateway",
                                    name_of(*part.job)));
        }
        out.push_back({part.job->object, port->port, part.percent});
    }
    return out;
}

Result<> split_by_route(TrafficSplits& splits, const SplitRequest& request,
                        const std::vector<ServingStatus>& jobs, const std::vector<Part>& parts,
                        const GatewayName& gateway, const std::optional<TrafficRoute>& before,
                        const PrintLine& print) {
    if (request.scale) {
        return fail(Code::invalid_argument,
                    "--scale: cannot be used with an HTTPRoute, because a Gateway splits by the "
                    "weights, whatever the numbers of pods are");
    }
    TrafficRoute wanted{.ns = request.ns,
                        .name = request.name,
                        .gateway = gateway,
                        .hostname = fmt::format("{}.{}", request.name, request.ns),
                        .backends = {},
                        .owners = owners_of(jobs),
                        .uid = {},
                        .why = {}};
    TRY(wanted.backends, backends_of(parts));
    if (before) wanted.hostname = before->hostname;
    if (request.hostname) wanted.hostname = *request.hostname;
    const bool is_same = before && before->gateway == wanted.gateway &&
                         before->hostname == wanted.hostname &&
                         before->backends == wanted.backends && before->owners == wanted.owners;
    if (!is_same) TRY_VOID(splits.write(wanted, before));
    print(fmt::format("httproute.gateway.networking.k8s.io/{} {}", request.name,
                      is_same  ? "unchanged"
                      : before ? "updated"
                               : "created"));
    print(
        fmt::format("Callers send HTTP requests {} to the Gateway {} of namespace {}",
                    wanted.hostname.empty() ? "with any host" : "with the host " + wanted.hostname,
                    gateway.name, gateway.ns));
    warn_of_unready(parts, "the Gateway refuses its part of the requests", print);
    return {};
}

// ---- by a Service

struct Replicas {
    std::vector<int> percents;
    std::vector<int> now;
    std::vector<int> wanted;
};

std::string joined(const std::vector<int>& numbers) {
    return fmt::format("{}", fmt::join(numbers, ":"));
}

// A HorizontalPodAutoscaler would change the split with the numbers of pods.
Result<> check_not_scaled(const std::vector<Part>& parts) {
    const auto scaled =
        std::ranges::find_if(parts, [](const Part& part) { return part.job->scaling.has_value(); });
    if (parts.size() < 2 || scaled == parts.end()) return {};
    return fail(Code::conflict,
                fmt::format("-v: version {} is scaled automatically, and a Service splits by the "
                            "numbers of pods; use --gateway, or switch the autoscaling off with "
                            "tessera serve update {} --name {} --version {} --max-replicas 0",
                            name_of(*scaled->job), row_of(scaled->job->id.type).command,
                            scaled->job->id.name, name_of(*scaled->job)));
}

// The numbers of pods for the split, or why the command has to be repeated with --scale.
Result<Replicas> replicas_of(const SplitRequest& request, const std::vector<Part>& parts) {
    Replicas out;
    std::vector<std::string> versions;
    for (const Part& part : parts) {
        out.percents.push_back(part.percent);
        out.now.push_back(part.job->desired);
        versions.push_back(name_of(*part.job));
    }
    out.wanted = workload::is_split(out.percents, out.now)
                     ? out.now
                     : workload::smallest_replicas(
                           out.percents, std::accumulate(out.now.begin(), out.now.end(), 0));
    if (out.wanted == out.now || request.scale) return out;
    return fail(
        Code::conflict,
        fmt::format("-v: {} have {} pods, which splits the connections {}, and not {}; "
                    "use --scale to change them to {} pods, which each take GPUs, or "
                    "tessera serve update --replicas",
                    listed(versions), joined(out.now), joined(workload::parts_of_sum(out.now)),
                    joined(out.percents), joined(out.wanted)));
}

Result<std::vector<ServicePort>> shared_ports(const std::vector<Part>& parts) {
    std::vector<ServicePort> out;
    const auto same = [](const ServicePort& one, const ServicePort& other) {
        return one.name == other.name && one.port == other.port;
    };
    for (const Part& part : parts) {
        if (out.empty()) out = part.job->ports;
        if (std::ranges::equal(out, part.job->ports, same)) continue;
        return fail(Code::invalid_argument,
                    fmt::format("-v: versions {} and {} have different ports, and one Service has "
                                "the same ports for all; serve one of them again",
                                name_of(*parts.front().job), name_of(*part.job)));
    }
    return out;
}

// Whether its present pods and later ones are in the split, or all of them are not. A rolling
// update that takes back an earlier one may bring back pods with the old label. A job of an earlier
// release has no label.
bool is_part(const ServingStatus& job, bool in) {
    return job.in_split.value_or(false) == in &&
           std::ranges::all_of(job.pods, [&](const auto& pod) { return pod.in_split == in; });
}

Result<> set_parts(TrafficSplits& splits, const std::vector<ServingStatus>& jobs,
                   const std::vector<Part>& parts, const Replicas& replicas,
                   const PrintLine& print) {
    const auto set = [&](const ServingStatus& job, bool in, std::optional<int> pods) -> Result<> {
        if (is_part(job, in) && !pods) return {};
        TRY_VOID(splits.set_part(job, in, pods));
        print(fmt::format("deployment.apps/{} {}", job.object,
                          pods ? fmt::format("scaled to {}", *pods) : std::string("updated")));
        return {};
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool changes = replicas.wanted[i] != replicas.now[i];
        TRY_VOID(
            set(*parts[i].job, true, changes ? std::optional(replicas.wanted[i]) : std::nullopt));
    }
    for (const ServingStatus& job : jobs) {
        if (std::ranges::find(parts, &job, &Part::job) == parts.end())
            TRY_VOID(set(job, false, std::nullopt));
    }
    return {};
}

Result<> split_by_service(TrafficSplits& splits, const SplitRequest& request,
                          const std::vector<ServingStatus>& jobs, const std::vector<Part>& parts,
                          const PrintLine& print) {
    if (request.hostname) {
        return fail(Code::invalid_argument,
                    "--hostname: needs a Gateway, and a Service splits this traffic");
    }
    TRY_VOID(check_not_scaled(parts));
    TRY(const Replicas replicas, replicas_of(request, parts));
    SharedService wanted{.ns = request.ns,
                         .name = request.name,
                         .ports = {},
                         .owners = owners_of(jobs),
                         .weights = workload::weights_text(request.weights)};
    TRY(wanted.ports, shared_ports(parts));
    TRY(const auto before, splits.service(request.name, jobs));
    // First, so that of two commands at the same time one fails before it changes a job.
    TRY_VOID(splits.write(wanted, before));
    print(fmt::format("service/{} {}", request.name, before ? "updated" : "created"));
    TRY_VOID(set_parts(splits, jobs, parts, replicas, print));
    TRY(const auto after, splits.service(request.name, jobs));
    if (!after || after->weights != wanted.weights) {
        return fail(Code::conflict,
                    fmt::format("another command split the traffic of {} at the same time; run "
                                "the one that counts again",
                                request.name));
    }
    print(fmt::format("Callers connect to {}.{}; ready pods get equal parts of the connections",
                      request.name, request.ns));
    warn_of_unready(parts, "it gets no connections", print);
    return {};
}

}  // namespace

Result<> split_traffic(Servings& servings, TrafficSplits& splits, const SplitRequest& request,
                       const PrintLine& print) {
    TRY(const auto jobs, servings.list(request.ns, request.name));
    if (jobs.empty()) return fail(no_such_job(request.ns, request.name));
    TRY(const std::vector<Part> parts, parts_of(request, jobs));
    if (request.gateway) TRY_VOID(check_gateway(splits, request));
    TRY(const auto route, read_route(splits, request, jobs));
    // A Gateway may serve other networks, so no route is made unless the user names one.
    if (request.gateway || route) {
        const GatewayName gateway = request.gateway ? *request.gateway : route->gateway;
        TRY_VOID(split_by_route(splits, request, jobs, parts, gateway, route, print));
        const auto service = splits.service(request.name, jobs);
        if (service && *service) {
            print(
                fmt::format("service/{0} still splits the connections of its callers by the "
                            "numbers of pods; tessera serve traffic-split --name {0} --remove "
                            "deletes both",
                            request.name));
        }
        return {};
    }
    return split_by_service(splits, request, jobs, parts, print);
}

Result<> remove_split(Servings& servings, TrafficSplits& splits, const std::string& ns,
                      const std::string& name, const PrintLine& print) {
    TRY(const auto jobs, servings.list(ns, name));
    if (jobs.empty()) return fail(no_such_job(ns, name));
    TRY(const auto service, splits.service(name, jobs));
    const auto route = splits.route(name, jobs);
    // A user who may not read routes can still end the split by a Service.
    const bool may_ignore = service && !route && route.error().code == Code::permission_denied;
    if (!route && !may_ignore) return fail(route.error());
    if (route && *route) {
        TRY_VOID(splits.remove(**route));
        print(fmt::format("httproute.gateway.networking.k8s.io/{} deleted", name));
    }
    if (service) {
        TRY_VOID(splits.remove(*service));
        print(fmt::format("service/{} deleted", name));
    }
    if (service || (route && *route)) return {};
    return fail(
        Code::not_found,
        fmt::format("--remove: the versions of {} share no address in namespace {}", name, ns));
}

Result<ServingStatus> remove_serving(Servings& cluster, const ServingChoice& choice) {
    TRY(const auto jobs, cluster.list(choice.ns, choice.name));
    TRY(ServingStatus job, choose_serving(jobs, choice));
    TRY_VOID(workload::check_removal(job, jobs));
    TRY_VOID(cluster.remove(job));
    return job;
}

}  // namespace tessera

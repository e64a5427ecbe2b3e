#include "wire/workload/traffic_split_json.hpp"

#include <algorithm>

#include "wire/text/json_patch.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/pod_template_json.hpp"
#include "wire/workload/serving_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kGatewayGroup = "gateway.networking.k8s.io";

constexpr int kMostWeight = 1'000'000;  // of the Gateway API

// No label of a single job, by which its own objects are found.
StringMap labels_of(const std::string& name) {
    return {{std::string(kManagedByLabel), std::string(kTessera)},
            {std::string(kServingNameLabel), name}};
}

bool is_of_split(JsonValue object) {
    const JsonValue metadata = object["metadata"];
    const JsonValue labels = metadata["labels"];
    const std::string name = metadata["name"].text_or("");
    return !name.empty() && labels[kServingNameLabel].text_or("") == name &&
           labels[kManagedByLabel].text_or("") == kTessera && !labels[kInstanceLabel].present();
}

// An array of owner references.
std::string owners_json(const std::vector<SplitOwner>& owners) {
    JsonWriter w;
    w.array([&] {
        for (const SplitOwner& owner : owners) {
            w.object([&] {
                w.member("apiVersion", "apps/v1");
                w.member("kind", "Deployment");
                w.member("name", owner.name);
                w.member("uid", owner.uid);
            });
        }
    });
    return w.take();
}

std::vector<SplitOwner> read_owners(JsonValue object) {
    std::vector<SplitOwner> out;
    for (const JsonValue owner : object["metadata"]["ownerReferences"].elements())
        out.push_back({owner["name"].text_or(""), owner["uid"].text_or("")});
    return out;
}

std::string parents_json(const GatewayName& gateway) {
    JsonWriter w;
    w.array([&] {
        w.object([&] {
            w.member("group", kGatewayGroup);
            w.member("kind", "Gateway");
            w.member("namespace", gateway.ns);
            w.member("name", gateway.name);
        });
    });
    return w.take();
}

std::string hostnames_json(const std::string& hostname) {
    return hostname.empty() ? "[]" : "[" + json_string(hostname) + "]";
}

std::string backends_json(const std::vector<RouteBackend>& backends) {
    JsonWriter w;
    w.array([&] {
        for (const RouteBackend& backend : backends) {
            w.object([&] {
                w.member("kind", "Service");
                w.member("name", backend.service);
                w.member("port", backend.port);
                w.member("weight", backend.weight);
            });
        }
    });
    return w.take();
}

std::string ports_json(const std::vector<ServicePort>& ports) {
    JsonWriter w;
    w.array([&] {
        for (const ServicePort& port : ports)
            write_service_port(w, port.name, port.port);
    });
    return w.take();
}

// The head of an object of a split.
void write_split_head(JsonWriter& w, const ObjectHead& head,
                      const std::vector<SplitOwner>& owners) {
    w.member("apiVersion", head.api);
    w.member("kind", head.kind);
    w.object("metadata", [&] {
        w.member("name", head.name);
        w.member("namespace", head.ns);
        write_map(w, "labels", head.labels);
        write_map(w, "annotations", head.annotations);
        w.raw_member("ownerReferences", owners_json(owners));
    });
}

// 1 if it has none.
int read_weight(JsonValue backend) {
    const JsonValue weight = backend["weight"];
    return weight.present() ? std::min(read_count(weight), kMostWeight) : 1;
}

// Why a Gateway does not carry the route out as it is written; empty if it does. Source: Gateway
// API, RouteParentStatus.
std::string refusal_of(JsonValue route) {
    const std::int64_t generation = route["metadata"]["generation"].integer().value_or(0);
    bool is_accepted = false;
    bool is_old = false;
    for (const JsonValue parent : route["status"]["parents"].elements()) {
        for (const JsonValue condition : parent["conditions"].elements()) {
            const std::string type = condition["type"].text_or("");
            if (type != "Accepted" && type != "ResolvedRefs") continue;
            const std::string status = condition["status"].text_or("");
            if (status == "False")
                return condition["reason"].text_or("") + ": " + condition["message"].text_or("");
            is_accepted |= type == "Accepted" && status == "True";
            is_old |= condition["observedGeneration"].integer().value_or(generation) < generation;
        }
    }
    if (!is_accepted) return "no Gateway has accepted it yet";
    return is_old ? "the Gateway has not seen the last change yet" : "";
}

}  // namespace

std::string write_route(const TrafficRoute& route) {
    JsonWriter w;
    w.object([&] {
        write_split_head(w,
                         {.api = "gateway.networking.k8s.io/v1",
                          .kind = "HTTPRoute",
                          .name = route.name,
                          .ns = route.ns,
                          .labels = labels_of(route.name)},
                         route.owners);
        w.object("spec", [&] {
            w.raw_member("parentRefs", parents_json(route.gateway));
            w.raw_member("hostnames", hostnames_json(route.hostname));
            w.array("rules", [&] {
                w.object([&] { w.raw_member("backendRefs", backends_json(route.backends)); });
            });
        });
    });
    return w.take();
}

std::string write_route_change(const TrafficRoute& before, const TrafficRoute& wanted) {
    JsonPatch patch;
    patch.test("/metadata/uid", before.uid);
    patch.test_raw("/metadata/generation", std::to_string(before.generation));
    patch.add_raw("/metadata/ownerReferences", owners_json(wanted.owners));
    if (before.gateway != wanted.gateway)
        patch.add_raw("/spec/parentRefs", parents_json(wanted.gateway));
    if (before.hostname != wanted.hostname)
        patch.add_raw("/spec/hostnames", hostnames_json(wanted.hostname));
    patch.add_raw("/spec/rules/0/backendRefs", backends_json(wanted.backends));
    return patch.take();
}

std::optional<TrafficRoute> read_route(JsonValue route) {
    if (!is_of_split(route)) return std::nullopt;
    const JsonValue metadata = route["metadata"];
    TrafficRoute out;
    out.ns = metadata["namespace"].text_or("");
    out.name = metadata["name"].text_or("");
    out.uid = metadata["uid"].text_or("");
    out.generation = metadata["generation"].integer().value_or(0);
    out.owners = read_owners(route);
    const JsonValue spec = route["spec"];
    if (const auto parents = spec["parentRefs"].elements(); !parents.empty()) {
        out.gateway = {parents.front()["namespace"].text_or(out.ns),
                       parents.front()["name"].text_or("")};
    }
    if (const auto names = spec["hostnames"].elements(); !names.empty())
        out.hostname = names.front().text_or("");
    if (const auto rules = spec["rules"].elements(); !rules.empty()) {
        for (const JsonValue backend : rules.front()["backendRefs"].elements()) {
            out.backends.push_back(
                {backend["name"].text_or(""), read_count(backend["port"]), read_weight(backend)});
        }
    }
    out.why = refusal_of(route);
    return out;
}

GatewayName read_gateway(JsonValue gateway) {
    const JsonValue metadata = gateway["metadata"];
    return {metadata["namespace"].text_or(""), metadata["name"].text_or("")};
}

std::string write_shared_service(const SharedService& service) {
    JsonWriter w;
    w.object([&] {
        write_split_head(w,
                         {.api = "v1",
                          .kind = "Service",
                          .name = service.name,
                          .ns = service.ns,
                          .labels = labels_of(service.name),
                          .annotations = {{std::string(kWeightsAnnotation), service.weights}}},
                         service.owners);
        w.object("spec", [&] {
            write_map(w, "selector",
                      {{std::string(kServingNameLabel), service.name},
                       {std::string(kSplitLabel), std::string(split_value(true))}});
            w.raw_member("ports", ports_json(service.ports));
        });
    });
    return w.take();
}

std::optional<SharedServiceState> read_shared_service(JsonValue service) {
    if (!is_of_split(service)) return std::nullopt;
    const JsonValue metadata = service["metadata"];
    return SharedServiceState{.ns = metadata["namespace"].text_or(""),
                              .name = metadata["name"].text_or(""),
                              .address = service["spec"]["clusterIP"].text_or(""),
                              .uid = metadata["uid"].text_or(""),
                              .revision = metadata["resourceVersion"].text_or(""),
                              .weights = metadata["annotations"][kWeightsAnnotation].text_or(""),
                              .owners = read_owners(service)};
}

std::string write_shared_service_change(const SharedServiceState& before,
                                        const SharedService& wanted) {
    JsonPatch patch;
    patch.test("/metadata/uid", before.uid);
    patch.test("/metadata/resourceVersion", before.revision);
    patch.add_raw("/metadata/ownerReferences", owners_json(wanted.owners));
    patch.add("/metadata/annotations/" + pointer_part(kWeightsAnnotation), wanted.weights);
    patch.add_raw("/spec/ports", ports_json(wanted.ports));
    return patch.take();
}

std::string write_part(std::string_view uid, bool in_split, std::optional<int> replicas) {
    JsonPatch patch;
    patch.test("/metadata/uid", uid);
    patch.add("/spec/template/metadata/labels/" + pointer_part(kSplitLabel), split_value(in_split));
    if (replicas) patch.add_raw("/spec/replicas", std::to_string(*replicas));
    return patch.take();
}

std::string write_pod_part(std::string_view uid, bool in_split) {
    JsonPatch patch;
    patch.test("/metadata/uid", uid);
    patch.add("/metadata/labels/" + pointer_part(kSplitLabel), split_value(in_split));
    return patch.take();
}

}  // namespace tessera::workload

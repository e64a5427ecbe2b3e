#include "wire/workload/serving_status_json.hpp"

#include <algorithm>

#include "wire/kube/kube_objects.hpp"
#include "wire/text/utc_time.hpp"
#include "wire/workload/pod_progress.hpp"
#include "wire/workload/serving_json.hpp"

namespace tessera::workload {
namespace {

int number_of(JsonValue value) {
    return static_cast<int>(std::clamp<std::int64_t>(value.integer().value_or(0), 0, 1 << 30));
}

std::int64_t created_of(JsonValue object) {
    return rfc3339_seconds(object["metadata"]["creationTimestamp"].text_or("")).value_or(0);
}

Gpus read_gpus(JsonValue limits) {
    Gpus out;
    const auto amount = [&](std::string_view resource) -> std::int64_t {
        const auto value = parse_whole_quantity(limits[resource].text_or("0"));
        return value ? *value : 0;
    };
    out.whole = static_cast<int>(std::min<std::int64_t>(amount("tessera.dev/gpu"), 1 << 10));
    out.memory = {amount("tessera.dev/gpu-memory")};
    out.cores = {static_cast<int>(std::min<std::int64_t>(amount("tessera.dev/gpu-cores"), 100))};
    return out;
}

std::vector<std::string> read_arguments(const std::string& recorded) {
    std::vector<std::string> out;
    const auto document = JsonDocument::parse(recorded);
    if (!document) return out;
    for (const JsonValue argument : document->root().elements())
        out.push_back(argument.text_or(""));
    return out;
}

// A quota or an admission webhook that refuses the pods.
std::string failure_of(JsonValue deployment) {
    for (const JsonValue condition : deployment["status"]["conditions"].elements()) {
        if (condition["type"].text_or("") == "ReplicaFailure" &&
            condition["status"].text_or("") == "True")
            return condition["message"].text_or("");
    }
    return {};
}

}  // namespace

std::optional<ServingStatus> read_serving(JsonValue deployment) {
    const JsonValue metadata = deployment["metadata"];
    const JsonValue labels = metadata["labels"];
    const auto type = parse_serving_type(labels[kServingTypeLabel].text_or(""));
    if (!type) return std::nullopt;
    ServingStatus out;
    out.id = {labels[kServingNameLabel].text_or(""), labels[kServingVersionLabel].text_or(""),
              *type};
    out.ns = metadata["namespace"].text_or("");
    out.object = metadata["name"].text_or("");
    out.uid = metadata["uid"].text_or("");
    out.recorded = metadata["annotations"][kCommandAnnotation].text_or("");
    out.desired = number_of(deployment["spec"]["replicas"]);
    out.available = number_of(deployment["status"]["availableReplicas"]);
    out.created_s = created_of(deployment);
    const auto containers = deployment["spec"]["template"]["spec"]["containers"].elements();
    if (!containers.empty()) out.gpus = read_gpus(containers.front()["resources"]["limits"]);
    out.arguments = read_arguments(out.recorded);
    out.why = failure_of(deployment);
    return out;
}

std::string read_serving_of(JsonValue object) {
    return object["metadata"]["labels"][kInstanceLabel].text_or("");
}

void read_serving_service(JsonValue service, ServingStatus& job) {
    job.has_service = true;
    job.address = service["spec"]["clusterIP"].text_or("");
    for (const JsonValue port : service["spec"]["ports"].elements()) {
        job.ports.push_back(
            {port["name"].text_or(""), number_of(port["port"]), number_of(port["nodePort"])});
    }
}

ServingPod read_serving_pod(JsonValue pod) {
    PodProgress progress = read_pod_progress(pod);
    ServingPod out{.name = pod["metadata"]["name"].text_or(""),
                   .status = std::move(progress.status),
                   .ready = progress.ready,
                   .containers = progress.containers,
                   .restarts = progress.restarts,
                   .node = pod["spec"]["nodeName"].text_or(""),
                   .node_ip = pod["status"]["hostIP"].text_or(""),
                   .ip = pod["status"]["podIP"].text_or(""),
                   .created_s = created_of(pod),
                   .gpus = {},
                   .why = std::move(progress.why)};
    const PodInfo info = read_pod(pod);
    const Allocation* own = own_allocation(info);
    if (own == nullptr) return out;
    for (const ContainerAllocation& container : own->containers)
        out.gpus.insert(out.gpus.end(), container.gpus.begin(), container.gpus.end());
    return out;
}

}  // namespace tessera::workload

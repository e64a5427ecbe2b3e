#include "wire/workload/serving_status_json.hpp"

#include "wire/workload/object_json.hpp"
#include "wire/workload/serving_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

// A quota or an admission webhook that refuses the pods.
std::string failure_of(JsonValue deployment) {
    for (const JsonValue condition : deployment["status"]["conditions"].elements()) {
        const bool is_true = condition["status"].text_or("") == "True";
        if (is_true && condition["type"].text_or("") == "ReplicaFailure")
            return condition["message"].text_or("");
    }
    return {};
}

// As `kubectl rollout status` decides. The status counts once it is of the present generation.
bool is_settled(JsonValue deployment) {
    const JsonValue status = deployment["status"];
    const int desired = read_count(deployment["spec"]["replicas"]);
    const bool is_present = status["observedGeneration"].integer().value_or(0) >=
                            deployment["metadata"]["generation"].integer().value_or(0);
    return is_present && read_count(status["updatedReplicas"]) == desired &&
           read_count(status["replicas"]) == desired &&
           read_count(status["availableReplicas"]) == desired;
}

void read_files(JsonValue pod, JsonValue container, ServingStatus& out) {
    for (const JsonValue volume : pod["volumes"].elements()) {
        if (volume["name"].text_or("") == kFilesVolume)
            out.files = volume["configMap"]["name"].text_or("");
    }
    for (const JsonValue mount : container["volumeMounts"].elements()) {
        if (mount["name"].text_or("") != kFilesVolume) continue;
        out.file_keys.emplace_back(mount["mountPath"].text_or(""), mount["subPath"].text_or(""));
    }
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
    out.desired = read_count(deployment["spec"]["replicas"]);
    out.available = read_count(deployment["status"]["availableReplicas"]);
    out.updated = read_count(deployment["status"]["updatedReplicas"]);
    out.is_settled = is_settled(deployment);
    out.is_deleting = metadata["deletionTimestamp"].present();
    out.created_s = read_created(deployment);
    const JsonValue pod_labels = deployment["spec"]["template"]["metadata"]["labels"];
    if (const auto part = pod_labels[kSplitLabel].text()) out.in_split = *part == split_value(true);
    const auto containers = deployment["spec"]["template"]["spec"]["containers"].elements();
    if (!containers.empty()) {
        out.gpus = read_gpus(containers.front()["resources"]["limits"]);
        read_files(deployment["spec"]["template"]["spec"], containers.front(), out);
    }
    out.arguments = read_arguments(out.recorded);
    out.why = failure_of(deployment);
    return out;
}

std::string read_serving_of(JsonValue object) {
    return object["metadata"]["labels"][kInstanceLabel].text_or("");
}

void read_serving_service(JsonValue service, ServingStatus& job) {
    if (service["metadata"]["name"].text_or("") != job.object || !is_owned_by(service, job.uid))
        return;
    job.has_service = true;
    job.address = service["spec"]["clusterIP"].text_or("");
    for (const JsonValue port : service["spec"]["ports"].elements()) {
        job.ports.push_back(
            {port["name"].text_or(""), read_count(port["port"]), read_count(port["nodePort"])});
    }
}

}  // namespace tessera::workload

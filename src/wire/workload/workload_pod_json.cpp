#include "wire/workload/workload_pod_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/kube/kube_objects.hpp"
#include "wire/text/utc_time.hpp"
#include "wire/workload/init_status_json.hpp"
#include "wire/workload/serving_json.hpp"

namespace tessera::workload {
namespace {

// So that the sum of two is an int, too.
constexpr int kMostCounted = (1 << 30) - 1;

// "REASON: MESSAGE", or what there is of it.
std::string reason_and_message(JsonValue state) {
    const std::string reason = state["reason"].text_or("");
    const std::string message = state["message"].text_or("");
    if (reason.empty() || message.empty()) return reason + message;
    return reason + ": " + message;
}

std::string exit_text(JsonValue terminated) {
    std::string out =
        fmt::format("it ended with exit code {}", terminated["exitCode"].integer().value_or(-1));
    if (const std::string more = reason_and_message(terminated); !more.empty())
        out += " (" + more + ")";
    return out;
}

// Why a container does not run, or is not ready; empty if it is.
std::string container_why(JsonValue container) {
    const std::string name = container["name"].text_or("");
    const JsonValue state = container["state"];
    if (state["waiting"].present()) {
        std::string why = reason_and_message(state["waiting"]);
        if (container["lastState"]["terminated"].present())
            why += "; " + exit_text(container["lastState"]["terminated"]);
        return fmt::format("container {}: {}", name, why);
    }
    if (state["terminated"].present()) {
        if (state["terminated"]["exitCode"].integer() == 0) return {};
        return fmt::format("container {}: {}", name, exit_text(state["terminated"]));
    }
    if (container["ready"].is_true()) return {};
    return fmt::format("container {} runs, and is not ready", name);
}

// The first container of a list that explains why the pod is not ready.
std::string first_why(JsonValue containers) {
    for (const JsonValue container : containers.elements()) {
        if (std::string why = container_why(container); !why.empty()) return why;
    }
    return {};
}

// The same for init containers, which are not ready while they run.
std::string init_why(JsonValue containers) {
    for (const JsonValue container : containers.elements()) {
        if (is_init_done(container)) continue;
        if (!container["state"]["running"].present()) return container_why(container);
        return fmt::format("container {} runs, and the others start after it",
                           container["name"].text_or(""));
    }
    return {};
}

std::string scheduling_why(JsonValue pod) {
    for (const JsonValue condition : pod["status"]["conditions"].elements()) {
        if (condition["type"].text_or("") != "PodScheduled") continue;
        if (condition["status"].text_or("") == "True") return {};
        return reason_and_message(condition);
    }
    return {};
}

// Why the pod is not ready, with the API's own text; empty if it is, or has ended well.
std::string why_of(JsonValue pod) {
    const JsonValue status = pod["status"];
    if (status["phase"].text_or("") == "Succeeded") return {};
    std::string why = scheduling_why(pod);
    if (why.empty()) why = init_why(status["initContainerStatuses"]);
    if (why.empty()) why = first_why(status["containerStatuses"]);
    if (why.empty()) why = reason_and_message(status);
    if (!why.empty()) return why;
    return pod["spec"]["nodeName"].present() ? "its containers do not run yet"
                                             : "no scheduler has looked at it yet";
}

std::vector<GpuShare> read_shares(JsonValue pod) {
    std::vector<GpuShare> out;
    const PodInfo info = read_pod(pod);
    const Allocation* own = own_allocation(info);
    if (own == nullptr) return out;
    for (const ContainerAllocation& container : own->containers)
        out.insert(out.end(), container.gpus.begin(), container.gpus.end());
    return out;
}

}  // namespace

std::string read_pod_status(JsonValue pod) {
    if (pod["metadata"]["deletionTimestamp"].present()) return "Terminating";
    std::string status = pod["status"]["reason"].text_or("");
    if (status.empty()) status = pod["status"]["phase"].text_or("Unknown");
    if (std::string init = read_init_status(pod); !init.empty()) return init;
    bool runs = false;  // any container
    for (const JsonValue container : pod["status"]["containerStatuses"].elements()) {
        const JsonValue state = container["state"];
        std::string waiting = state["waiting"]["reason"].text_or("");
        const std::string ended = state["terminated"]["reason"].text_or("");
        if (!waiting.empty()) return waiting;
        if (!ended.empty()) status = ended;
        runs |= state["running"].present();
    }
    return runs && status == "Completed" ? "NotReady" : status;
}

WorkloadPod read_workload_pod(JsonValue pod) {
    WorkloadPod out{
        .uid = PodUid(pod["metadata"]["uid"].text_or("")),
        .name = pod["metadata"]["name"].text_or(""),
        .phase = pod["status"]["phase"].text_or("Pending"),
        .status = read_pod_status(pod),
        .node = pod["spec"]["nodeName"].text_or(""),
        .node_ip = pod["status"]["hostIP"].text_or(""),
        .ip = pod["status"]["podIP"].text_or(""),
        .created_s = read_created(pod),
        .gpus = read_shares(pod),
        .why = {},
        .init = read_waiting_init(pod),
        .in_split = pod["metadata"]["labels"][kSplitLabel].text_or("") == split_value(true)};
    out.containers = static_cast<int>(pod["spec"]["containers"].elements().size());
    for (const JsonValue container : pod["status"]["containerStatuses"].elements()) {
        if (container["ready"].is_true()) ++out.ready;
        out.restarts = std::min(out.restarts + read_count(container["restartCount"]), kMostCounted);
    }
    if (out.containers == 0 || out.ready < out.containers) out.why = why_of(pod);
    return out;
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

std::int64_t read_created(JsonValue object) {
    return rfc3339_seconds(object["metadata"]["creationTimestamp"].text_or("")).value_or(0);
}

int read_count(JsonValue value) {
    return static_cast<int>(std::clamp<std::int64_t>(value.integer().value_or(0), 0, kMostCounted));
}

}  // namespace tessera::workload

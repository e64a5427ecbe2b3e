#include "wire/workload/pod_progress.hpp"

#include <fmt/format.h>

#include <vector>

namespace tessera::workload {
namespace {

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

std::string scheduling_why(JsonValue pod) {
    for (const JsonValue condition : pod["status"]["conditions"].elements()) {
        if (condition["type"].text_or("") != "PodScheduled") continue;
        if (condition["status"].text_or("") == "True") return {};
        return reason_and_message(condition);
    }
    return {};
}

// What kubectl shows in place of the phase.
std::string status_of(JsonValue pod) {
    if (pod["metadata"]["deletionTimestamp"].present()) return "Terminating";
    std::string status = pod["status"]["reason"].text_or("");
    if (status.empty()) status = pod["status"]["phase"].text_or("Unknown");
    for (const JsonValue container : pod["status"]["containerStatuses"].elements()) {
        const JsonValue state = container["state"];
        const std::string waiting = state["waiting"]["reason"].text_or("");
        const std::string ended = state["terminated"]["reason"].text_or("");
        if (!waiting.empty()) return waiting;
        if (!ended.empty()) return ended;
    }
    return status;
}

}  // namespace

PodProgress read_pod_progress(JsonValue pod) {
    PodProgress out{.status = status_of(pod), .why = {}};
    const JsonValue status = pod["status"];
    out.containers = static_cast<int>(pod["spec"]["containers"].elements().size());
    for (const JsonValue container : status["containerStatuses"].elements()) {
        if (container["ready"].is_true()) ++out.ready;
        out.restarts += static_cast<int>(container["restartCount"].integer().value_or(0));
    }
    if (out.containers > 0 && out.ready == out.containers) return out;
    out.why = scheduling_why(pod);
    if (out.why.empty()) out.why = first_why(status["initContainerStatuses"]);
    if (out.why.empty()) out.why = first_why(status["containerStatuses"]);
    if (out.why.empty()) out.why = reason_and_message(status);
    if (out.why.empty()) {
        out.why = pod["spec"]["nodeName"].present() ? "its containers do not run yet"
                                                    : "no scheduler has looked at it yet";
    }
    return out;
}

}  // namespace tessera::workload

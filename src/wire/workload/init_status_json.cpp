#include "wire/workload/init_status_json.hpp"

#include <fmt/format.h>

#include <optional>

namespace tessera::workload {
namespace {

// The first init container that is not done, and how many are done before it. Once all are done,
// a sidecar that ends does not count.
struct Waiting {
    JsonValue container;
    std::size_t done = 0;
};

std::optional<Waiting> find_waiting(JsonValue pod) {
    for (const JsonValue condition : pod["status"]["conditions"].elements()) {
        const bool is_true = condition["status"].text_or("") == "True";
        if (is_true && condition["type"].text_or("") == "Initialized") return std::nullopt;
    }
    std::size_t done = 0;
    for (const JsonValue container : pod["status"]["initContainerStatuses"].elements()) {
        if (!is_init_done(container)) return Waiting{container, done};
        ++done;
    }
    return std::nullopt;
}

std::string ended_text(JsonValue terminated) {
    const std::string reason = terminated["reason"].text_or("");
    if (!reason.empty()) return "Init:" + reason;
    return fmt::format("Init:ExitCode:{}", terminated["exitCode"].integer().value_or(-1));
}

}  // namespace

bool is_init_done(JsonValue container) {
    if (container["state"]["terminated"].present())
        return container["state"]["terminated"]["exitCode"].integer() == 0;
    // Only sidecars are ready while they run.
    return container["state"]["running"].present() && container["ready"].is_true();
}

std::string read_waiting_init(JsonValue pod) {
    const auto waiting = find_waiting(pod);
    return waiting ? waiting->container["name"].text_or("") : std::string();
}

std::string read_init_status(JsonValue pod) {
    const auto waiting = find_waiting(pod);
    if (!waiting) return {};
    const JsonValue state = waiting->container["state"];
    if (state["terminated"].present()) return ended_text(state["terminated"]);
    const std::string reason = state["waiting"]["reason"].text_or("");
    if (!reason.empty() && reason != "PodInitializing") return "Init:" + reason;
    return fmt::format("Init:{}/{}", waiting->done,
                       pod["spec"]["initContainers"].elements().size());
}

}  // namespace tessera::workload

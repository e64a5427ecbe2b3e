#include "wire/kube/eviction_json.hpp"

#include <algorithm>

#include "wire/text/json.hpp"

namespace tessera {

std::string write_eviction(const PodUid& uid, const PodName& pod, bool dry_run) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "policy/v1");
        w.member("kind", "Eviction");
        w.object("metadata", [&] {
            w.member("name", pod.name);
            w.member("namespace", pod.ns);
        });
        w.object("deleteOptions", [&] {
            w.object("preconditions", [&] { w.member("uid", uid.str()); });
            if (dry_run) w.array("dryRun", [&] { w.item("All"); });
        });
    });
    return w.take();
}

bool is_of_a_budget(std::string_view body) {
    const auto document = JsonDocument::parse(body);
    if (!document) return false;
    // The Eviction API handles one budget per pod, and answers 500 if there are more.
    const auto message = document->root()["message"].text_or("");
    if (message.find("more than one PodDisruptionBudget") != std::string::npos) return true;
    const auto causes = document->root()["details"]["causes"].elements();
    return std::ranges::any_of(
        causes, [](JsonValue cause) { return cause["reason"].text_or("") == "DisruptionBudget"; });
}

bool is_of_missing_right(std::string_view body) {
    const auto document = JsonDocument::parse(body);
    const std::string message =
        document ? document->root()["message"].text_or("") : std::string(body);
    return message.find("cannot create resource") != std::string::npos;
}

bool is_of_a_namesake(std::string_view body) {
    const auto document = JsonDocument::parse(body);
    return document && document->root()["message"].text_or("").find("UID") != std::string::npos;
}

}  // namespace tessera

#include "wire/kube/event_json.hpp"

#include "base/utc_text.hpp"
#include "wire/text/json.hpp"

namespace tessera {
std::string write_pod_event(const PodEvent& event, std::int64_t unix_s) {
    const std::string time = utc_text(unix_s);
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "Event");
        w.object("metadata", [&] {
            w.member("generateName", event.name.name + ".");
            w.member("namespace", event.name.ns);
        });
        w.object("involvedObject", [&] {
            w.member("apiVersion", "v1");
            w.member("kind", "Pod");
            w.member("name", event.name.name);
            w.member("namespace", event.name.ns);
            w.member("uid", event.pod.str());
        });
        w.member("type", event.type == PodEventType::warning ? "Warning" : "Normal");
        w.member("reason", event.reason);
        w.member("message", event.message);
        w.object("source", [&] { w.member("component", event.source); });
        w.member("firstTimestamp", time);
        w.member("lastTimestamp", time);
        w.member("count", 1);
    });
    return w.take();
}

std::string write_event_again(int count, std::int64_t unix_s) {
    JsonWriter w;
    w.object([&] {
        w.member("count", count);
        w.member("lastTimestamp", utc_text(unix_s));
    });
    return w.take();
}

}  // namespace tessera

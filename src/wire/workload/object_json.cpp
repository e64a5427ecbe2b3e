#include "wire/workload/object_json.hpp"

#include <algorithm>

namespace tessera::workload {

std::string write_arguments(const std::vector<std::string>& arguments) {
    JsonWriter w;
    w.array([&] {
        for (const std::string& argument : arguments)
            w.item(argument);
    });
    return w.take();
}

std::vector<std::string> read_arguments(const std::string& text) {
    std::vector<std::string> out;
    const auto document = JsonDocument::parse(text);
    if (!document) return out;
    for (const JsonValue argument : document->root().elements())
        out.push_back(argument.text_or(""));
    return out;
}

void write_head(JsonWriter& w, const ObjectHead& head) {
    w.member("apiVersion", head.api);
    w.member("kind", head.kind);
    w.object("metadata", [&] {
        w.member("name", head.name);
        w.member("namespace", head.ns);
        write_map(w, "labels", head.labels);
        write_map(w, "annotations", head.annotations);
        if (head.owner.uid.empty()) return;
        w.array("ownerReferences", [&] {
            w.object([&] {
                w.member("apiVersion", head.owner.api);
                w.member("kind", head.owner.kind);
                w.member("name", head.owner.name);
                w.member("uid", head.owner.uid);
            });
        });
    });
}

void write_service_port(JsonWriter& w, std::string_view name, int number) {
    w.object([&] {
        w.member("name", name);
        w.member("port", number);
        w.member("targetPort", name);
    });
}

bool is_owned_by(JsonValue object, std::string_view uid) {
    return std::ranges::any_of(object["metadata"]["ownerReferences"].elements(),
                               [&](JsonValue owner) { return owner["uid"].text() == uid; });
}

StringMap joined(StringMap first, const StringMap& second) {
    first.insert(second.begin(), second.end());
    return first;
}

}  // namespace tessera::workload

#include "wire/kube/nomination_json.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::string_view kPath = "/status/nominatedNodeName";

void write_step(JsonWriter& w, std::string_view op, std::string_view path,
                std::string_view value = {}) {
    w.object([&] {
        w.member("op", op);
        w.member("path", path);
        if (!value.empty()) w.member("value", value);
    });
}

}  // namespace

std::string write_nomination(const PodUid& uid, const NodeName& node) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] { w.member("uid", uid.str()); });
        w.object("status", [&] { w.member("nominatedNodeName", node.str()); });
    });
    return w.take();
}

std::string write_withdrawal(const PodUid& uid, const NodeName& node) {
    JsonWriter w;
    w.array([&] {
        write_step(w, "test", "/metadata/uid", uid.str());
        write_step(w, "test", kPath, node.str());
        write_step(w, "remove", kPath);
    });
    return w.take();
}

bool read_nominated_ahead(JsonValue pod) {
    if (pod["status"]["nominatedNodeName"].text_or("").empty()) return false;
    return std::ranges::any_of(pod["metadata"]["managedFields"].elements(), [](JsonValue entry) {
        return entry["manager"].text_or("") == kNominator &&
               entry["fieldsV1"]["f:status"]["f:nominatedNodeName"].present();
    });
}

}  // namespace tessera

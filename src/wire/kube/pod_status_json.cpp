#include "wire/kube/pod_status_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/text/json_patch.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNominated = "/status/nominatedNodeName";

template <class Status>
std::string merge_patch(const PodUid& uid, const Status& status) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] { w.member("uid", uid.str()); });
        w.object("status", [&] { status(w); });
    });
    return w.take();
}

}  // namespace

std::string write_preempted(const PodUid& uid, std::string_view preemptor) {
    return merge_patch(uid, [&](JsonWriter& w) {
        w.array("conditions", [&] {
            w.object([&] {
                w.member("type", "DisruptionTarget");
                w.member("status", "True");
                w.member("reason", "PreemptionByScheduler");
                w.member("message", fmt::format("tessera-controller: preempting to accommodate {}",
                                                preemptor));
            });
        });
    });
}

std::string write_nomination(const PodUid& uid, const NodeName& node) {
    return merge_patch(uid, [&](JsonWriter& w) { w.member("nominatedNodeName", node.str()); });
}

std::string write_first_nomination(const PodUid& uid, const NodeName& node) {
    JsonPatch patch;
    patch.test("/metadata/uid", uid.str());
    patch.test_missing("/spec/nodeName");
    patch.test_missing(kNominated);
    patch.add(kNominated, node.str());
    return patch.take();
}

std::string write_withdrawal(const PodUid& uid, const NodeName& node) {
    JsonPatch patch;
    patch.test("/metadata/uid", uid.str());
    patch.test(kNominated, node.str());
    patch.remove(kNominated);
    return patch.take();
}

bool read_nominated_ahead(JsonValue pod) {
    if (pod["status"]["nominatedNodeName"].text_or("").empty()) return false;
    return std::ranges::any_of(pod["metadata"]["managedFields"].elements(), [](JsonValue entry) {
        return entry["manager"].text_or("") == kNominator &&
               entry["fieldsV1"]["f:status"]["f:nominatedNodeName"].present();
    });
}

}  // namespace tessera

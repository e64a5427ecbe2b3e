#include "wire/node/kubelet_checkpoint.hpp"

#include "wire/text/json.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> unknown_form(std::string_view field) {
    return fail(Code::unsupported, "kubelet's checkpoint: " + std::string(field) +
                                       " is not where Kubernetes 1.20 to 1.36 have it");
}

}  // namespace

Result<std::vector<CheckpointEntry>> read_kubelet_checkpoint(std::string_view text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error().in("kubelet's checkpoint"));
    const JsonValue data = document->root()["Data"];
    if (!data.is_object()) return unknown_form("Data");
    std::vector<CheckpointEntry> entries;
    const JsonValue list = data["PodDeviceEntries"];
    if (!list.present()) return entries;  // null before the first device was allocated
    if (!list.is_array()) return unknown_form("PodDeviceEntries");
    for (const JsonValue json : list.elements()) {
        CheckpointEntry entry;
        entry.pod = PodUid(json["PodUID"].text_or(""));
        entry.container = json["ContainerName"].text_or("");
        entry.resource = json["ResourceName"].text_or("");
        entry.allocate_response = json["AllocResp"].text_or("");
        if (entry.pod.empty() || entry.container.empty()) return unknown_form("PodUID");
        if (!json["DeviceIDs"].is_object()) return unknown_form("DeviceIDs");
        for (const auto& [numa, ids] : json["DeviceIDs"].members()) {
            for (const JsonValue id : ids.elements())
                entry.ids.insert(id.text_or(""));
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace tessera

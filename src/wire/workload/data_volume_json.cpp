#include "wire/workload/data_volume_json.hpp"

#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {

DataVolume read_data_volume(JsonValue claim) {
    const JsonValue metadata = claim["metadata"];
    DataVolume out{.ns = metadata["namespace"].text_or(""),
                   .name = metadata["name"].text_or(""),
                   .access_modes = {},
                   .description = metadata["annotations"]["description"].text_or(""),
                   .owner = metadata["annotations"]["owner"].text_or(""),
                   .created_s = read_created(claim),
                   .is_bound = claim["status"]["phase"].text_or("") == "Bound"};
    for (const JsonValue mode : claim["status"]["accessModes"].elements()) {
        out.access_modes += out.access_modes.empty() ? "" : ",";
        out.access_modes += mode.text_or("");
    }
    return out;
}

}  // namespace tessera::workload

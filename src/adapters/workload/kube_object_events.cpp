#include "adapters/workload/kube_object_events.hpp"

#include <algorithm>

#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/object_event_json.hpp"

namespace tessera {

using workload::ObjectEvent;

namespace {

constexpr ObjectKind kEvents{"/api/v1", "events", "events"};

}  // namespace

Result<std::vector<ObjectEvent>> read_object_events(HttpClient& http, const std::string& ns,
                                                    const std::set<std::string>& uids) {
    std::vector<ObjectEvent> out;
    const auto keep = [&](JsonValue json) {
        ObjectEvent event = workload::read_object_event(json);
        if (uids.contains(event.uid)) out.push_back(std::move(event));
    };
    if (const auto read = each_item(http, path_of(kEvents, ns), "list events", keep); !read)
        return fail(read.error());
    std::ranges::stable_sort(out, {}, &ObjectEvent::last_s);
    return out;
}

}  // namespace tessera

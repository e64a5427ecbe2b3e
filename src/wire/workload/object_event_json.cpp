#include "wire/workload/object_event_json.hpp"

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"
#include "wire/text/utc_time.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

// Programs that use the old API set lastTimestamp, those that use the new one the others.
std::int64_t last_time(JsonValue event) {
    for (const JsonValue time : {event["series"]["lastObservedTime"], event["lastTimestamp"],
                                 event["eventTime"], event["firstTimestamp"]}) {
        const std::optional<std::int64_t> seconds = rfc3339_seconds(time.text_or(""));
        if (seconds) return *seconds;
    }
    return read_created(event);
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), to_lower);
    return text;
}

// Several lines would break a table.
std::string one_line(std::string text) {
    std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return text;
}

}  // namespace

ObjectEvent read_object_event(JsonValue event) {
    const JsonValue object = event["involvedObject"];
    const int count = std::max(read_count(event["series"]["count"]), read_count(event["count"]));
    return {.uid = object["uid"].text_or(""),
            .object = lower(object["kind"].text_or("")) + "/" + object["name"].text_or(""),
            .type = event["type"].text_or(""),
            .reason = event["reason"].text_or(""),
            .message = one_line(event["message"].text_or("")),
            .count = std::max(count, 1),
            .last_s = last_time(event)};
}

}  // namespace tessera::workload

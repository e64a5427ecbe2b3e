#include "app/workload/event_text.hpp"

#include <fmt/format.h>

#include "app/cli/tab_writer.hpp"
#include "app/workload/view_text.hpp"

namespace tessera {

using workload::ObjectEvent;

std::string events_text(std::span<const ObjectEvent> events, std::int64_t now_s) {
    if (events.empty()) return "\nEvents:\n  none; the cluster keeps events for a while only\n";
    std::string rows =
        "  SOURCE\tTYPE\tAGE\tMESSAGE\t\n"
        "  ------\t----\t---\t-------\t\n";
    for (const ObjectEvent& event : events) {
        rows += fmt::format("  {}\t{}\t{}\t[{}] {}{}\t\n", event.object, or_none(event.type),
                            age_text(now_s - event.last_s), event.reason, event.message,
                            event.count > 1 ? fmt::format(" ({} times)", event.count) : "");
    }
    return "\nEvents:\n" + align_tabs_and_trim(rows);
}

void write_events(JsonWriter& w, std::span<const ObjectEvent> events) {
    w.array("events", [&] {
        for (const ObjectEvent& event : events) {
            w.object([&] {
                w.member("source", event.object);
                w.member("type", event.type);
                w.member("reason", event.reason);
                w.member("message", event.message);
                w.member("count", event.count);
                w.member("lastTimestamp", event.last_s);
            });
        }
    });
}

}  // namespace tessera

#include "app/workload/event_text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(EventText, Table) {
    const std::vector<workload::ObjectEvent> events{
        {.uid = "u",
         .object = "pod/tf-dist-chief-0",
         .type = "Normal",
         .reason = "Scheduled",
         .message = "Successfully assigned default/tf-dist-chief-0 to gpu-a",
         .count = 1,
         .last_s = 91},
        {.uid = "v",
         .object = "job/tf-dist-worker",
         .type = "Warning",
         .reason = "BackOff",
         .message = "Back-off",
         .count = 3,
         .last_s = 40},
    };
    EXPECT_EQ(events_text(events, 100), R"(
Events:
  SOURCE               TYPE     AGE  MESSAGE
  ------               ----     ---  -------
  pod/tf-dist-chief-0  Normal   9s   [Scheduled] Successfully assigned default/tf-dist-chief-0 to gpu-a
  job/tf-dist-worker   Warning  1m   [BackOff] Back-off (3 times)
)");
    EXPECT_EQ(events_text({}, 100),
              "\nEvents:\n  none; the cluster keeps events for a while only\n");
    JsonWriter w;
    w.object([&] { write_events(w, std::span(events).subspan(1)); });
    EXPECT_EQ(w.take(),
              R"({"events":[{"source":"job/tf-dist-worker","type":"Warning","reason":"BackOff",)"
              R"("message":"Back-off","count":3,"lastTimestamp":40}]})");
}

}  // namespace
}  // namespace tessera

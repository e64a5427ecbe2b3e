#include "app/cli/share_table.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// The second share received GPU time, and had work in flight, for these nanoseconds.
NodeShareUses said(std::int64_t had_ns, std::int64_t in_flight_ns) {
    return {NodeName("n1"),
            {{.pod = PodUid("u"),
              .name = {"s", "spare"},
              .container = "main",
              .gpu = GpuUuid("GPU-n1-1"),
              .used = gibibytes(1),
              .limit = gibibytes(4),
              .processes = {{.pid = 7, .used = gibibytes(1)}}},
             {.pod = PodUid("v"),
              .container = "main",
              .gpu = GpuUuid("GPU-of-none"),
              .used = gibibytes(3),
              .limit = gibibytes(3),
              .cores = {30},
              .cores_limit = {60},
              .refusals = 2,
              .is_timed = true,
              .in_flight = {.kernels_ns = in_flight_ns},
              .had = {.kernels_ns = had_ns}}}};
}

PodInfo pod(const char* uid, const char* name) {
    PodInfo info = build::pod(name, {build::native(gibibytes(1))});
    info.uid = PodUid(uid);
    info.node = NodeName("n1");
    return info;
}

std::vector<NodeUsage> nodes() {
    const std::vector pods{pod("u", "spare"), pod("v", "full")};
    return usage_of({build::node("n1", 2, gibibytes(16))}, pods);
}

std::vector<ShareLine> lines(std::int64_t was_had_ns = 1'000) {
    const auto all = nodes();
    const std::vector before{said(was_had_ns, 2'000)};
    const std::vector now{said(294'001'000, 900'002'000)};
    return share_lines(all, now, before, 1'000'000'000);
}

// Goal: the fullest share first, a line for each process, dashes for unknown values.
TEST(ShareTable, Table) {
    EXPECT_EQ(
        share_table(lines()),
        "NODE  GPU  POD      CONTAINER  PID  USED  LIMIT  USED%  CORES%  CORES-LIMIT%  TIME% "
        " REFUSED\n"
        "n1    -    v        main            3Gi   3Gi    100    30      60            29     2\n"
        "n1    1    s/spare  main            1Gi   4Gi    25     -       -             -      0\n"
        "n1    1    s/spare  main       7    1Gi\n");
}

// Goal: a region that a container damaged is not shown as zero usage.
TEST(ShareTable, Damaged) {
    auto broken = lines();
    broken.pop_back();
    broken[0].use.is_damaged = true;
    EXPECT_EQ(
        share_table(broken),
        "NODE  GPU  POD  CONTAINER  PID  USED     LIMIT  USED%  CORES%  CORES-LIMIT%  TIME%  "
        "REFUSED\n"
        "n1    -    v    main            damaged  3Gi    -      30      60            29     -\n");
}

// Goal: without an earlier report, or across a restart of the agent, no time is shown.
TEST(ShareTable, NoTime) {
    const std::vector now{said(400'001'000, 500'000'000)};
    for (const ShareLine& line : share_lines({}, now))
        EXPECT_FALSE(line.time || line.busy);
    EXPECT_FALSE(lines(300'000'000)[0].time);
}

// Goal: shares of finished pods that the agent still keeps are not shown; for nodes that the API
// does not list, all shares are shown.
TEST(ShareTable, PodsThatAreOver) {
    auto over = pod("u", "spare");
    over.finished = true;
    const std::vector pods{over};
    const std::vector now{said(0, 0)};
    EXPECT_TRUE(share_lines(usage_of({build::node("n1", 2, gibibytes(16))}, pods), now).empty());
    EXPECT_EQ(share_lines({}, now).size(), 2U);
}

TEST(ShareTable, Json) {
    const auto all = lines();
    JsonWriter w;
    w.object([&] { write_shares(w, std::span(all).subspan(1)); });
    EXPECT_EQ(w.take(), R"({"shares":[{"node":"n1","index":1,"uuid":"GPU-n1-1","namespace":"s",)"
                        R"("name":"spare","podUid":"u","container":"main","usedBytes":1073741824,)"
                        R"("limitBytes":4294967296,"coresPercent":0,"coresLimitPercent":100,)"
                        R"("refusals":0,"damaged":false,)"
                        R"("processes":[{"pid":7,"usedBytes":1073741824}]}]})");
    JsonWriter timed;
    timed.object([&] { write_shares(timed, std::span(all).first(1)); });
    EXPECT_NE(timed.take().find(R"("timePercent":29,"busyPercent":90,)"), std::string::npos);
}

}  // namespace
}  // namespace tessera

#include "app/cli/share_table.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

NodeShareUses said(std::int64_t busy_ns, std::int64_t spare_ns) {
    return {NodeName("n1"),
            {{.pod = PodUid("u"),
              .name = {"s", "spare"},
              .container = "main",
              .card = GpuUuid("GPU-n1-1"),
              .held = gibibytes(1),
              .limit = gibibytes(4),
              .kernels_ns = spare_ns,
              .processes = {{.pid = 7, .held = gibibytes(1)}}},
             {.pod = PodUid("v"),
              .container = "main",
              .card = GpuUuid("GPU-of-none"),
              .held = gibibytes(3),
              .limit = gibibytes(3),
              .cores = {30},
              .refusals = 2,
              .kernels_ns = busy_ns}}};
}

std::vector<ShareLine> lines() {
    const auto nodes = usage_of({build::node("n1", 2, gibibytes(16))}, {});
    const std::vector before{said(1'000, 0)};
    const std::vector now{said(400'001'000, 0)};
    return share_lines(nodes, now, before, 1'000'000'000);
}

// Goal: the fullest first, a line for each process, dashes for what is not known.
TEST(ShareTable, Table) {
    EXPECT_EQ(share_table(lines()),
              "NODE  GPU  POD      CONTAINER  PID  USED  LIMIT  USED%  CORES%  BUSY%  REFUSED\n"
              "n1    -    v        main            3Gi   3Gi    100    30      39     2\n"
              "n1    1    s/spare  main            1Gi   4Gi    25     -       -      0\n"
              "n1    1    s/spare  main       7    1Gi                                \n");
}

// Goal: who looks once is told of no time.
TEST(ShareTable, OneLook) {
    const std::vector now{said(400'001'000, 5)};
    for (const ShareLine& line : share_lines({}, now))
        EXPECT_FALSE(line.busy);
}

TEST(ShareTable, Json) {
    const auto all = lines();
    JsonWriter w;
    w.object([&] { write_shares(w, std::span(all).subspan(1)); });
    EXPECT_EQ(w.take(), R"({"shares":[{"node":"n1","index":1,"uuid":"GPU-n1-1","namespace":"s",)"
                        R"("name":"spare","podUid":"u","container":"main","usedBytes":1073741824,)"
                        R"("limitBytes":4294967296,"coresPercent":0,"refusals":0,)"
                        R"("processes":[{"pid":7,"usedBytes":1073741824}]}]})");
}

}  // namespace
}  // namespace tessera

// Goal: work intervals are unpacked as they were packed, and work in flight counts until now.
#include "guard/region/process_time.hpp"

#include <gtest/gtest.h>

namespace tessera::guard {
namespace {

TEST(ProcessTime, PiecesOfWork) {
    const WorkInterval rows[] = {{5, 1, 0, WorkKind::kernels},
                                 {9, 123'456'789'012, 15, WorkKind::copies}};
    for (const WorkInterval& interval : rows) {
        const WorkInterval back = unpack_interval(interval.start_ns, pack_interval(interval));
        EXPECT_EQ(back.start_ns, interval.start_ns);
        EXPECT_EQ(back.ns, interval.ns);
        EXPECT_EQ(back.gpu, interval.gpu);
        EXPECT_EQ(back.kind, interval.kind);
    }
    const WorkInterval longest =
        unpack_interval(0, pack_interval({0, INT64_MAX, 1, WorkKind::kernels}));
    EXPECT_GT(longest.ns, 1'000'000'000'000);
}

TEST(ProcessTime, TimeInFlight) {
    InFlight of = {};
    EXPECT_EQ(in_flight_ns(of, 100), 0);
    of.total_ns = 40;
    of.since_ns = 90;
    EXPECT_EQ(in_flight_ns(of, 100), 50);
    EXPECT_EQ(in_flight_ns(of, 80), 40) << "it begins after that";
}

}  // namespace
}  // namespace tessera::guard

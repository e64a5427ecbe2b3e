// Goal: pieces of work come out of their word as they went in, and what is in flight counts until
// now.
#include "guard/region/process_time.hpp"

#include <gtest/gtest.h>

namespace tessera::guard {
namespace {

TEST(ProcessTime, PiecesOfWork) {
    const Piece rows[] = {{5, 1, 0, WorkKind::kernels}, {9, 123'456'789'012, 15, WorkKind::copies}};
    for (const Piece& piece : rows) {
        const Piece back = unpack_piece(piece.start_ns, pack_piece(piece));
        EXPECT_EQ(back.start_ns, piece.start_ns);
        EXPECT_EQ(back.ns, piece.ns);
        EXPECT_EQ(back.card, piece.card);
        EXPECT_EQ(back.kind, piece.kind);
    }
    const Piece longest = unpack_piece(0, pack_piece({0, INT64_MAX, 1, WorkKind::kernels}));
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

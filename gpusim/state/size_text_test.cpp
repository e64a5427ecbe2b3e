// Goal: sizes are read correctly, and nothing else is accepted. Method: a table.
#include "gpusim/state/size_text.hpp"

#include <gtest/gtest.h>

namespace gpusim {
namespace {

TEST(SizeText, Reads) {
    const struct {
        const char* text;
        std::uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"512B", 512},
        {"3KiB", 3072},
        {"15360MiB", 16106127360},
        {"24GiB", 25769803776},
        {"1TiB", 1099511627776},
        {"9223372036854775807", 9223372036854775807},
    };
    for (const auto& row : rows) {
        std::uint64_t bytes = 7;
        EXPECT_TRUE(parse_size(row.text, &bytes)) << row.text;
        EXPECT_EQ(bytes, row.bytes) << row.text;
    }
}

TEST(SizeText, Refuses) {
    for (const char* text : {"", "MiB", "-1", "1.5GiB", "1 GiB", "1GB", "1Gi", "GiB1", "1GiBx",
                             "0x10", "9223372036854775808", "99999999999999999999", "8388608TiB"}) {
        std::uint64_t bytes = 7;
        EXPECT_FALSE(parse_size(text, &bytes)) << text;
        EXPECT_EQ(bytes, 7U) << text;
    }
}

}  // namespace
}  // namespace gpusim

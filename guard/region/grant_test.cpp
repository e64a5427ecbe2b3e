// Goal: a grant is read completely while it is written, and is unchanged if its writer dies in the
// middle. Method: a writer and readers at once; a copy that is half written.
#include "guard/region/grant.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tessera::guard {
namespace {

Granted all(std::int64_t value) {
    const auto part = static_cast<Millionths>(value);
    return {value, part, {{value, part}, {value, part}}};
}

bool is_whole(const Granted& granted) {
    for (const Granted::OfKind& of : granted.of) {
        if (of.balance_ns != granted.as_of_ns || of.part != granted.rate) return false;
    }
    return static_cast<std::int64_t>(granted.rate) == granted.as_of_ns;
}

TEST(Grant, IsReadWhole) {
    Grant grant = {};
    std::atomic<bool> is_over = false;
    std::vector<std::thread> readers;
    std::atomic<int> torn = 0;
    for (int i = 0; i < 2; i++) {
        readers.emplace_back([&] {
            while (!is_over)
                torn += is_whole(read_grant(grant)) ? 0 : 1;
        });
    }
    for (std::int64_t value = 1; value < 100'000; value++)
        write_grant(grant, all(value));
    is_over = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(read_grant(grant).as_of_ns, 99'999);
}

TEST(Grant, AWriterThatDiesInTheMiddleHasChangedNothing) {
    Grant grant = {};
    write_grant(grant, all(7));
    grant.copies[(grant.version.load() + 1) % 2].rate.store(99);
    EXPECT_EQ(read_grant(grant).as_of_ns, 7);
    EXPECT_TRUE(is_whole(read_grant(grant)));
    write_grant(grant, all(8));
    EXPECT_EQ(read_grant(grant).as_of_ns, 8);
    EXPECT_TRUE(is_whole(read_grant(grant)));
}

TEST(Grant, APartOfLongTimes) {
    EXPECT_EQ(part_of(1'000'000'000'000, kWhole / 4), 250'000'000'000);
}

}  // namespace
}  // namespace tessera::guard

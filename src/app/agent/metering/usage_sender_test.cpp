#include "app/agent/metering/usage_sender.hpp"

#include <gtest/gtest.h>

#include "testing/builders/usage_records.hpp"
#include "testing/fakes/fake_usage.hpp"

namespace tessera {
namespace {

UsageRecord record(std::int64_t interval) {
    return build::usage("u1", {interval * 60, interval * 60 + 60});
}

class UsageSenderTest : public testing::Test {
  protected:
    UsageSenderTest() {
        for (const std::int64_t i : {1, 2, 3})
            EXPECT_TRUE(spool_.add({{record(i)}}));
    }

    FakeUsageSpool spool_;
    FakeLedgerClient ledger_;
    UsageSender sender_{spool_, ledger_};
};

TEST_F(UsageSenderTest, SendsTheOldestFirst) {
    EXPECT_EQ(sender_.send({}), UsageSender::kPeriod);
    EXPECT_EQ(ledger_.received, (std::vector{record(1), record(2), record(3)}));
    EXPECT_TRUE(spool_.batches.empty());
}

// Goal: while the ledger is away nothing is lost.
TEST_F(UsageSenderTest, KeepsWhatTheLedgerDoesNotTake) {
    ledger_.answer = fail(Code::unavailable, "away");
    EXPECT_EQ(sender_.send({}), UsageSender::kAgain);
    EXPECT_EQ(spool_.batches.size(), 3U);
    EXPECT_EQ(ledger_.calls, 1);
    EXPECT_EQ(spool_.joins, 1);
    ledger_.answer = {};
    EXPECT_EQ(sender_.send({}), UsageSender::kPeriod);
    EXPECT_EQ(ledger_.received.size(), 3U);
}

// Goal: records that the ledger never takes do not keep the others back.
TEST_F(UsageSenderTest, SetsAsideWhatTheLedgerRefuses) {
    ledger_.refused = record(2);
    EXPECT_EQ(sender_.send({}), UsageSender::kPeriod);
    EXPECT_EQ(ledger_.received, (std::vector{record(1), record(3)}));
    EXPECT_EQ(spool_.rejected.size(), 1U);
}

TEST_F(UsageSenderTest, ADiskThatFailsIsTriedAgain) {
    spool_.fault = fail(Code::unavailable, "read-only");
    EXPECT_EQ(sender_.send({}), UsageSender::kAgain);
    EXPECT_EQ(ledger_.calls, 0);
}

TEST_F(UsageSenderTest, EndsWhenItIsStopped) {
    std::stop_source stop;
    stop.request_stop();
    sender_.send(stop.get_token());
    EXPECT_EQ(ledger_.calls, 0);
}

}  // namespace
}  // namespace tessera

// Goal: the dead are looked for twice a second, the gone every ten seconds, and nothing is
// forgotten while nobody knows who is there.
#include "app/agent/share_keeper.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_node.hpp"

namespace tessera {
namespace {

// Stops after so many sleeps.
class CountedClock final : public Clock {
  public:
    CountedClock(int sleeps, std::stop_source& stop) : left_(sleeps), stop_(stop) {}

    [[nodiscard]] std::int64_t unix_ns() const override { return now_.count(); }
    [[nodiscard]] std::chrono::nanoseconds steady() const override { return now_; }
    void sleep_for(std::chrono::milliseconds duration) override { now_ += duration; }
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token&) override {
        now_ += duration;
        if (--left_ == 0) stop_.request_stop();
    }

  private:
    int left_;
    std::stop_source& stop_;
    std::chrono::nanoseconds now_{};
};

class ShareKeeperTest : public testing::Test {
  protected:
    void keep(int sleeps) {
        std::stop_source stop;
        CountedClock clock(sleeps, stop);
        keep_shares(shares_, record_, clock, stop.get_token());
    }

    FakeShareHolder shares_;
    FakeDeviceHolders record_;
};

TEST_F(ShareKeeperTest, Forgets) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    keep(2);
    EXPECT_EQ(shares_.kept, (std::vector<std::set<PodUid>>(2, {PodUid("here")})));
}

TEST_F(ShareKeeperTest, ARecordThatCannotBeReadForgetsNobody) {
    record_.set(fail(Code::unavailable, "no checkpoint"));
    keep(3);
    EXPECT_TRUE(shares_.kept.empty());
}

}  // namespace
}  // namespace tessera

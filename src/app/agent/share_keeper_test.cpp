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

TEST_F(ShareKeeperTest, ForgetsTheGone) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    shares_.kept = {PodUid("here"), PodUid("gone")};
    keep(2);
    EXPECT_EQ(shares_.forgotten, std::vector<PodUid>{PodUid("gone")});
}

TEST_F(ShareKeeperTest, APodThatComesMeanwhileStays) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    record_.on_list([this] { shares_.kept.insert(PodUid("new")); });
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

TEST_F(ShareKeeperTest, ARecordThatSaysNothingForgetsNobody) {
    shares_.kept = {PodUid("here")};
    keep(1);
    record_.set(fail(Code::unavailable, "no checkpoint"));
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

}  // namespace
}  // namespace tessera

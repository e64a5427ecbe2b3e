// Goal: nothing is kept of pods that are over, as kubelet or the API server say, and all of those
// of which it is not known.
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
        keeper_.run(clock, stop.get_token());
    }
    // What the watch shows at its start.
    void list(const std::vector<std::string>& uids) {
        PodChanges changes{.present = {}, .removed = {}, .all = std::set<PodUid>{}};
        for (const std::string& uid : uids) {
            changes.present.push_back(pod(uid));
            changes.all->insert(PodUid(uid));
        }
        keeper_.take(changes);
    }
    static PodFacts pod(const std::string& uid, bool finished = false) {
        PodFacts pod;
        pod.uid = PodUid(uid);
        pod.finished = finished;
        return pod;
    }

    FakeShareHolder shares_;
    FakeDeviceHolders record_;
    ShareKeeper keeper_{shares_, record_};
};

TEST_F(ShareKeeperTest, ForgetsTheGone) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    shares_.kept = {PodUid("here"), PodUid("gone")};
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty()) << "the API server has not listed the node's pods yet";
    list({"here"});
    keep(2);
    EXPECT_EQ(shares_.forgotten, std::vector<PodUid>{PodUid("gone")});
}

// Goal: kubelet's checkpoint was damaged, kubelet started again with an empty record, and one new
// pod was admitted: the pods that run are missing from the record, and keep their shares.
TEST_F(ShareKeeperTest, ADamagedRecordTakesNothingFromPodsThatRun) {
    shares_.kept = {PodUid("computes"), PodUid("idle"), PodUid("deleted-by-force")};
    shares_.in_use = {PodUid("computes"), PodUid("deleted-by-force")};
    list({"computes", "idle"});
    record_.add({PodUid("new"), "main", "tessera.dev/gpu", {"a"}, {}});
    keep(3);
    EXPECT_TRUE(shares_.forgotten.empty());
    shares_.in_use.clear();
    keep(1);
    EXPECT_EQ(shares_.forgotten, std::vector<PodUid>{PodUid("deleted-by-force")});
}

TEST_F(ShareKeeperTest, APodThatComesMeanwhileStays) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    record_.on_list([this] { shares_.kept.insert(PodUid("new")); });
    list({});
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

TEST_F(ShareKeeperTest, ARecordThatSaysNothingForgetsNobody) {
    shares_.kept = {PodUid("here")};
    list({});
    keep(1);
    record_.set(fail(Code::unavailable, "no checkpoint"));
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

// Kubelet remembers them all.
TEST_F(ShareKeeperTest, ForgetsThoseThatAreOver) {
    for (const char* uid : {"runs", "finished", "removed", "relisted", "lives-on", "unseen"}) {
        record_.add({PodUid(uid), "main", "tessera.dev/gpu", {"a"}, {}});
        shares_.kept.insert(PodUid(uid));
    }
    shares_.in_use = {PodUid("lives-on")};
    keeper_.take(
        {.present = {pod("runs"), pod("relisted"), pod("lives-on")}, .removed = {}, .all = {}});
    keeper_.take({.present = {pod("finished", true)},
                  .removed = {PodUid("removed"), PodUid("lives-on"), PodUid("never-kept")},
                  .all = {}});
    keeper_.take({.present = {pod("runs")}, .removed = {}, .all = std::set{PodUid("runs")}});
    keep(1);
    EXPECT_EQ(shares_.kept, (std::set{PodUid("runs"), PodUid("lives-on"), PodUid("unseen")}));
    shares_.in_use.clear();
    keep(1);
    EXPECT_EQ(shares_.kept, (std::set{PodUid("runs"), PodUid("unseen")}));
}

}  // namespace
}  // namespace tessera

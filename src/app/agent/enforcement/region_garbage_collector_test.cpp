// Goal: the shares of pods that are over, according to kubelet or the API server, are removed.
// Those of all pods that are not known to be over are kept.
#include "app/agent/enforcement/region_garbage_collector.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_node.hpp"

namespace tessera {
namespace {

class RegionGarbageCollectorTest : public testing::Test {
  protected:
    void keep(int rounds) {
        for (int i = 0; i < rounds; ++i)
            collector_.collect();
    }
    // Takes what the watch shows at its start.
    void list(const std::vector<std::string>& uids) {
        PodChanges changes{.upserted = {}, .deleted = {}, .listed = std::set<PodUid>{}};
        for (const std::string& uid : uids) {
            changes.upserted.push_back(pod(uid));
            changes.listed->insert(PodUid(uid));
        }
        collector_.take(changes);
    }
    static PodInfo pod(const std::string& uid, bool finished = false) {
        PodInfo pod;
        pod.uid = PodUid(uid);
        pod.finished = finished;
        return pod;
    }

    FakeEnforcer shares_;
    FakeDeviceHolders record_;
    RegionGarbageCollector collector_{Enforcers({&shares_}), record_};
};

TEST_F(RegionGarbageCollectorTest, ForgetsTheGone) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    shares_.kept = {PodUid("here"), PodUid("gone")};
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty()) << "the API server has not listed the node's pods yet";
    list({"here"});
    keep(2);
    EXPECT_EQ(shares_.forgotten, std::vector<PodUid>{PodUid("gone")});
}

// Goal: kubelet's checkpoint was damaged, kubelet started again with an empty record, and one new
// pod was admitted. The running pods are missing from the record, and keep their shares.
TEST_F(RegionGarbageCollectorTest, ADamagedRecordTakesNothingFromPodsThatRun) {
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

TEST_F(RegionGarbageCollectorTest, APodThatComesMeanwhileStays) {
    record_.add({PodUid("here"), "main", "tessera.dev/gpu", {"a"}, {}});
    record_.on_list([this] { shares_.kept.insert(PodUid("new")); });
    list({});
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

TEST_F(RegionGarbageCollectorTest, ARecordThatSaysNothingForgetsNobody) {
    shares_.kept = {PodUid("here")};
    list({});
    keep(1);
    record_.set(fail(Code::unavailable, "no checkpoint"));
    keep(1);
    EXPECT_TRUE(shares_.forgotten.empty());
}

// Kubelet's record still has all of them.
TEST_F(RegionGarbageCollectorTest, ForgetsThoseThatAreOver) {
    for (const char* uid : {"runs", "finished", "removed", "relisted", "lives-on", "unseen"}) {
        record_.add({PodUid(uid), "main", "tessera.dev/gpu", {"a"}, {}});
        shares_.kept.insert(PodUid(uid));
    }
    shares_.in_use = {PodUid("lives-on")};
    collector_.take(
        {.upserted = {pod("runs"), pod("relisted"), pod("lives-on")}, .deleted = {}, .listed = {}});
    collector_.take({.upserted = {pod("finished", true)},
                     .deleted = {PodUid("removed"), PodUid("lives-on"), PodUid("never-kept")},
                     .listed = {}});
    collector_.take({.upserted = {pod("runs")}, .deleted = {}, .listed = std::set{PodUid("runs")}});
    keep(1);
    EXPECT_EQ(shares_.kept, (std::set{PodUid("runs"), PodUid("lives-on"), PodUid("unseen")}));
    shares_.in_use.clear();
    keep(1);
    EXPECT_EQ(shares_.kept, (std::set{PodUid("runs"), PodUid("unseen")}));
}

// Goal: the enforcers learn once which pods are known and which are orphans, as soon as both lists
// are there. That alone removes nothing.
TEST_F(RegionGarbageCollectorTest, RecoversOnce) {
    for (const char* uid : {"recorded", "listed", "over", "orphan"})
        shares_.kept.insert(PodUid(uid));
    shares_.in_use = shares_.kept;
    record_.set(fail(Code::unavailable, "no checkpoint"));
    list({"listed", "without-a-share", "over"});
    collector_.take({.upserted = {}, .deleted = {PodUid("over")}, .listed = {}});
    keep(1);
    EXPECT_TRUE(shares_.recovered.empty()) << "kubelet's record cannot be read yet";
    record_.set(
        std::vector<DeviceHolder>{{PodUid("recorded"), "main", "tessera.dev/gpu", {"a"}, {}},
                                  {PodUid("over"), "main", "tessera.dev/gpu", {"b"}, {}}});
    keep(2);
    ASSERT_EQ(shares_.recovered.size(), 1U);
    EXPECT_EQ(shares_.recovered[0].first,
              (std::set{PodUid("recorded"), PodUid("listed"), PodUid("without-a-share")}));
    EXPECT_EQ(shares_.recovered[0].second, (std::set{PodUid("over"), PodUid("orphan")}));
    EXPECT_TRUE(shares_.forgotten.empty());
}

}  // namespace
}  // namespace tessera

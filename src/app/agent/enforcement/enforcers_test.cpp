// Goal: each container gets the strongest enforcer that can limit its memory, and the strongest
// that can limit its compute. A container that nothing can limit is refused with all reasons.
#include "app/agent/enforcement/enforcers.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_enforcer.hpp"

namespace tessera {
namespace {

constexpr ShareResources kBoth{.memory = true, .compute = true};

class EnforcersTest : public testing::Test {
  protected:
    Result<ContainerEdits> prepare() {
        TRY(const auto choice, enforcers_.choose(container_, shares_));
        return enforcers_.prepare(choice, container_, shares_);
    }
    [[nodiscard]] std::string enforced_by() const {
        return enforcers_.enforced_by(container_.pod, container_.container).text();
    }
    // The mounts of a container that has the files of one fake.
    static std::vector<ContainerMount> mounts(const std::string& source) {
        return {{.destination = "/guard", .source = source},
                {.destination = "/etc/ld.so.preload", .source = source}};
    }
    [[nodiscard]] bool has_started(const std::vector<ContainerMount>& mounts) const {
        return enforcers_.has_started_enforced(container_.pod, "main", mounts);
    }
    ShareUse use(const char* container = "main") const {
        return {.pod = container_.pod, .container = container, .gpu = GpuUuid("GPU-a")};
    }

    const EnforcedContainer container_{PodUid("uid-p"), {"team", "p"}, "main"};
    const std::vector<EnforcedShare> shares_{{GpuUuid("GPU-a"), gibibytes(4), {25}}};
    FakeEnforcer strong_{"strong"};
    FakeEnforcer weak_{"weak"};
    Enforcers enforcers_{{&strong_, &weak_}};
};

TEST_F(EnforcersTest, TheFirstThatCanIsChosen) {
    const auto choice = enforcers_.choose(container_, shares_);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->by(), (EnforcedBy{"strong", "strong"}));
    EXPECT_EQ(choice->mount_points(), (std::vector<std::string>{"/guard", "/etc/ld.so.preload"}));
    const auto edits = prepare();
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->mounts.size(), 1U) << "prepared once";
    EXPECT_EQ(strong_.enforces(container_.pod, "main"), kBoth);
    EXPECT_TRUE(weak_.prepared.empty());
    EXPECT_EQ(enforced_by(), "strong");
    strong_.refuse(ShareResource::memory, {Code::unsupported, "the driver is too old"});
    strong_.refuse(ShareResource::compute, {Code::unsupported, "the driver is too old"});
    ASSERT_TRUE(prepare());
    EXPECT_EQ(enforced_by(), "weak") << "what the other one had prepared is released";
}

TEST_F(EnforcersTest, MemoryAndComputeAreChosenSeparately) {
    strong_.refuse(ShareResource::compute, {Code::unsupported, "it limits memory only"});
    EXPECT_EQ(enforcers_.choose(container_, shares_)->by(), (EnforcedBy{"strong", "weak"}));
    const auto edits = prepare();
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->mounts.size(), 2U);
    EXPECT_EQ(strong_.enforces(container_.pod, "main"), ShareResources{.memory = true});
    EXPECT_EQ(weak_.enforces(container_.pod, "main"), ShareResources{.compute = true});
    EXPECT_EQ(enforced_by(), "memory=strong,compute=weak");
    EXPECT_EQ(enforcers_.fault(), "");
}

TEST_F(EnforcersTest, WhatNothingCanLimitIsRefusedWithAllReasons) {
    strong_.refuse(ShareResource::compute, {Code::unsupported, "it limits memory only"});
    weak_.refuse(ShareResource::compute, {Code::unsupported, "SELinux is on; label the folder"});
    const auto refused = prepare();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "no enforcer of this node can limit the container's GPU compute: strong: it limits "
              "memory only; weak: SELinux is on; label the folder");
    EXPECT_EQ(enforcers_.fault(), refused.error().text) << "it holds for every container";
    EXPECT_TRUE(strong_.prepared.empty());
    const Enforcers alone({&weak_});
    EXPECT_EQ(alone.choose(container_, shares_).error(),
              (Error{Code::unsupported, "SELinux is on; label the folder"}));
    EXPECT_EQ(alone.fault(), "SELinux is on; label the folder");
    EXPECT_EQ(Enforcers().fault(), "");
}

// Goal: no weaker enforcer replaces the one for which the pod was placed.
TEST_F(EnforcersTest, WhatThePodWasPlacedForIsNotReplaced) {
    EXPECT_EQ(enforcers_.choose(container_, shares_, "strong")->by().memory, "strong");
    strong_.refuse(ShareResource::memory, {Code::unsupported, "the driver is too old"});
    EXPECT_EQ(enforcers_.choose(container_, shares_)->by(), (EnforcedBy{"weak", "strong"}));
    EXPECT_EQ(enforcers_.choose(container_, shares_, "strong").error().text,
              "the pod was placed so that strong limits its memory (tessera.dev/enforced-by), and "
              "on this node it cannot now: the driver is too old. Delete the pod, so that it is "
              "created again");
    const auto missing = enforcers_.choose(container_, shares_, "other");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().text.find("configured without it"), std::string::npos);
}

TEST_F(EnforcersTest, AnEnforcerThatFailsRefusesTheContainer) {
    strong_.refuse_next({Code::unavailable, "the disk is full"});
    EXPECT_EQ(prepare().error().text, "the disk is full");
    EXPECT_EQ(enforced_by(), "");
}

TEST_F(EnforcersTest, UpdatesAndVerifiesWhatIsPrepared) {
    strong_.refuse(ShareResource::compute, {Code::unsupported, "it limits memory only"});
    EXPECT_FALSE(enforcers_.update(container_.pod, "main", {}).value());
    EXPECT_EQ(enforcers_.verify(container_, 7).error().code, Code::conflict);
    ASSERT_TRUE(enforcers_.apply(container_, 7));
    EXPECT_TRUE(strong_.applied.empty()) << "nothing is prepared";
    ASSERT_TRUE(prepare());
    ASSERT_TRUE(enforcers_.apply(container_, 7));
    EXPECT_EQ(strong_.applied.size(), 1U);
    EXPECT_EQ(weak_.applied.size(), 1U);
    EXPECT_TRUE(enforcers_.verify(container_, 7));
    const std::vector<EnforcedShare> more{{GpuUuid("GPU-a"), gibibytes(6), {25}}};
    EXPECT_TRUE(enforcers_.update(container_.pod, "main", more).value());
    EXPECT_EQ(strong_.in_force.at("uid-p/main"), more);
    EXPECT_EQ(weak_.in_force.at("uid-p/main"), more);
    EXPECT_FALSE(enforcers_.update(container_.pod, "main", more).value());
    weak_.covered = {7};
    EXPECT_FALSE(enforcers_.verify(container_, 7));
    weak_.release(container_.pod, "main");
    EXPECT_TRUE(enforcers_.verify(container_, 7)) << "only what is prepared is read back";
}

// Goal: a container that started without the guard, or with another agent's files, is not expected
// to be enforced.
TEST_F(EnforcersTest, KnowsWhetherAContainerStartedEnforced) {
    EXPECT_FALSE(has_started({}));
    EXPECT_TRUE(has_started(mounts("/ours")));
    ASSERT_TRUE(prepare());
    EXPECT_TRUE(has_started(mounts("/ours")));
    EXPECT_FALSE(has_started(mounts("/elsewhere")));
    EXPECT_FALSE(has_started({{.destination = "/guard", .source = "/ours"}}));
}

TEST_F(EnforcersTest, ReachesAllOfThem) {
    strong_.kept = {PodUid("a"), PodUid("b")};
    weak_.kept = {PodUid("b"), PodUid("c")};
    EXPECT_EQ(enforcers_.pods(), (std::set{PodUid("a"), PodUid("b"), PodUid("c")}));
    weak_.in_use = {PodUid("a")};
    EXPECT_TRUE(enforcers_.is_in_use(PodUid("a"))) << "the limits of both stay while it lives";
    EXPECT_FALSE(enforcers_.is_in_use(PodUid("b")));
    enforcers_.cleanup(PodUid("b"));
    EXPECT_EQ(strong_.forgotten, std::vector{PodUid("b")});
    EXPECT_EQ(weak_.forgotten, std::vector{PodUid("b")});
    enforcers_.recover({PodUid("a")}, {PodUid("c")});
    EXPECT_EQ(strong_.recovered.size(), 1U);
    EXPECT_EQ(weak_.recovered, strong_.recovered);
    weak_.containers = {{7, "side"}};
    EXPECT_EQ(enforcers_.container_of(PodUid("a"), 7), "side");
    EXPECT_EQ(enforcers_.container_of(PodUid("a"), 8), std::nullopt);
}

// Goal: each container and GPU is counted once: memory as its enforcer measures it, and time as the
// other one does.
TEST_F(EnforcersTest, CountsEachUseOnce) {
    strong_.start("uid-p", "main", {}, {.memory = true});
    weak_.start("uid-p", "main", {}, {.compute = true});
    ShareUse memory = use();
    memory.used = gibibytes(3);
    memory.limit = gibibytes(4);
    ShareUse time = use();
    time.name = {"team", "p"};
    time.used = gibibytes(2);
    time.cores = {25};
    time.waited_ns = 9;
    strong_.measured = {.uses = {memory}, .unreadable = {PodUid("old")}};
    weak_.measured = {.uses = {use("side"), time}, .unreadable = {}};
    const auto [uses, unreadable] = enforcers_.usage();
    ASSERT_EQ(uses.size(), 2U);
    EXPECT_EQ(uses[0].name, time.name);
    EXPECT_EQ(uses[0].used, gibibytes(3));
    EXPECT_EQ(uses[0].limit, gibibytes(4));
    EXPECT_EQ(uses[0].cores, Percent{25});
    EXPECT_EQ(uses[0].waited_ns, 9);
    EXPECT_EQ(uses[1], use("side"));
    EXPECT_EQ(unreadable, std::set{PodUid("old")});
    const Enforcers other_way({&weak_, &strong_});
    EXPECT_EQ(other_way.usage().uses.at(1), uses[0]);
}

}  // namespace
}  // namespace tessera

// Goal: who asks hears in one line what became of it, and by an exit status whether to try again.
// Method: a pod of 4 GiB, and a controller that does what the test says when the wish is there.
#include "app/cli/resize.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_pod_resizes.hpp"

namespace tessera {
namespace {

const PodName kName{"default", "p"};

class ResizeCommandTest : public testing::Test {
  protected:
    ResizeCommandTest() { pods_.put(pod()); }

    static PodFacts pod(int containers = 1) {
        PodFacts pod = build::pod("p", build::native(gibibytes(4)));
        Allocation allocation = build::allocation(
            pod, "n", {{.uuid = GpuUuid("GPU-a"), .index = 1, .memory = gibibytes(4)}});
        for (int i = 1; i < containers; ++i) {
            allocation.containers.push_back(allocation.containers.front());
            allocation.containers.back().container = "side";
        }
        return build::bound(pod, allocation);
    }
    // The controller grants what was wished for.
    void grant() {
        const auto shown = pods_.read(kName);
        Allocation after = **shown->facts.allocation;
        ++after.revision;
        for (const auto& wanted : (*shown->facts.resize)->containers) {
            const auto of =
                std::ranges::find(after.containers, wanted.name, &ContainerAllocation::container);
            GpuShare& share = of->gpus.front();
            share.memory = wanted.memory.value_or(share.memory);
            share.cores = wanted.cores.value_or(share.cores);
        }
        write({{std::string(key::kAllocation), write_allocation(after)}});
    }
    void write(const StringMap& annotations) {
        const auto shown = pods_.read(kName);
        EXPECT_TRUE(pods_.write(shown->facts.uid, kName, shown->version, annotations));
    }
    Result<std::string> ask(ResizeAsk with) {
        with.pod = kName;
        with.id = "1";
        return ask_to_resize(pods_, clock_, with);
    }
    Error refused(ResizeAsk with) {
        const auto said = ask(std::move(with));
        EXPECT_FALSE(said) << *said;
        return said ? Error{} : said.error();
    }

    FakePodResizes pods_;
    FakeClock clock_;
};

TEST_F(ResizeCommandTest, SaysWhatChanged) {
    pods_.on_write([this] { grant(); });
    const auto said = ask({.memory = gibibytes(6), .cores = Percent{20}});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said, "pod default/p: main on card 1: memory 4Gi -> 6Gi, cores 0 -> 20");
    const auto again = ask({.memory = gibibytes(6)});
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, "pod default/p: has that already");
}

TEST_F(ResizeCommandTest, SaysWhyItWasRefused) {
    pods_.on_write([this] {
        write({{std::string(key::kResizeRefused),
                write_resize_refusal(pods_.read(kName)->wish, {Code::unavailable, "no room"})}});
    });
    EXPECT_EQ(refused({.memory = gibibytes(6)}),
              (Error{Code::conflict, "pod default/p: refused: no room"}));
}

// Goal: who gets no answer hears that the wish stands; a server that is away for a moment is asked
// again.
TEST_F(ResizeCommandTest, WaitsForAnAnswer) {
    const Error none = refused({.memory = gibibytes(6), .timeout = std::chrono::seconds(3)});
    EXPECT_EQ(none.code, Code::unavailable);
    EXPECT_NE(none.text.find("no answer within 3 s; the wish stands"), std::string::npos);
    EXPECT_EQ(pods_.reads(), 17) << "before, and every 200 ms";
    clock_.on_sleep([this, asked = 0]() mutable {
        if (++asked == 2) pods_.fail_next_read({Code::unavailable, "no answer"});
        if (asked == 5) grant();
    });
    EXPECT_TRUE(ask({.memory = gibibytes(7)}));
}

// Goal: a wish for one container takes no other's place, which has no answer yet.
TEST_F(ResizeCommandTest, WishesForTwoContainers) {
    pods_.put(pod(2));
    EXPECT_FALSE(ask({.container = "main", .memory = gibibytes(6), .timeout = {}}));
    pods_.on_wish([this] { pods_.touch(kName); });
    pods_.on_write([this] { grant(); });
    const auto said = ask({.container = "side", .memory = gibibytes(5)});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said,
              "pod default/p: main on card 1: memory 4Gi -> 6Gi; side on card 1: memory 4Gi "
              "-> 5Gi");
}

// Goal: nor does one for another amount of the same container, and who waited for that goes on.
TEST_F(ResizeCommandTest, WishesForTwoAmountsAtOnce) {
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(ask({.cores = Percent{5}, .timeout = {}}));
        } else if (looked == 2) {
            grant();
        }
    });
    const auto said = ask({.memory = gibibytes(6)});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said, "pod default/p: main on card 1: memory 4Gi -> 6Gi, cores 0 -> 5");
}

// Goal: the later of two wishes for one amount counts, and the other hears of it.
TEST_F(ResizeCommandTest, TheLaterWishForAnAmountCounts) {
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(ask({.memory = gibibytes(7), .timeout = {}}));
        }
    });
    EXPECT_NE(refused({.memory = gibibytes(6)}).text.find("another wish has taken the place"),
              std::string::npos);
}

// Goal: who waits goes on where another's wish includes his, and hears that it was granted though
// the annotation has another by then.
TEST_F(ResizeCommandTest, IsAnsweredBesideAnothersWish) {
    pods_.put(pod(2));
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(ask({.container = "side", .memory = gibibytes(5), .timeout = {}}));
        } else if (looked == 2) {
            grant();
            pods_.set_wish(kName, "another");
        }
    });
    const auto said = ask({.container = "main", .memory = gibibytes(6)});
    ASSERT_TRUE(said) << said.error().text;
}

// Goal: what was refused is not asked for again with the next wish.
TEST_F(ResizeCommandTest, ARefusedWishIsOver) {
    pods_.put(pod(2));
    pods_.on_write([this] {
        write({{std::string(key::kResizeRefused),
                write_resize_refusal(pods_.read(kName)->wish, {Code::unavailable, "no room"})}});
    });
    EXPECT_FALSE(ask({.container = "main", .memory = gibibytes(6)}));
    EXPECT_FALSE(ask({.container = "side", .memory = gibibytes(5), .timeout = {}}));
    EXPECT_EQ(read_resize_wish(pods_.read(kName)->wish)->containers.size(), 1U);
}

TEST_F(ResizeCommandTest, WhatElseMayComeBetween) {
    pods_.on_write([this] { pods_.set_wish(kName, "another"); });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::conflict);
    pods_.on_write([this] {
        PodFacts namesake = pod();
        namesake.uid = PodUid("another");
        pods_.put(namesake);
    });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
    pods_.put(pod());
    pods_.on_write([this] { pods_.remove(kName); });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
}

// Goal: what makes no sense is said at once, and nothing is written.
TEST_F(ResizeCommandTest, WhatCannotBeAsked) {
    EXPECT_EQ(refused({}).text, "nothing to change: give --memory, --cores or --ceiling");
    pods_.put(pod(2));
    EXPECT_EQ(refused({.memory = gibibytes(6)}).text,
              "--container: missing; pod default/p has main, side");
    pods_.put(build::pod("p", build::native(gibibytes(4))));
    EXPECT_EQ(refused({.memory = gibibytes(6)}),
              (Error{Code::conflict, "pod default/p is not placed yet"}));
    PodFacts plain = build::pod("p", {});
    plain.node = NodeName("n");
    pods_.put(plain);
    EXPECT_EQ(refused({.memory = gibibytes(6)}).text,
              "pod default/p has no share of a GPU that Tessera gave it");
    pods_.remove(kName);
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
    pods_.put(pod());
    EXPECT_EQ(pods_.read(kName)->wish, "");
    pods_.fail_next_write({Code::permission_denied, "no right"});
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::permission_denied);
}

}  // namespace
}  // namespace tessera

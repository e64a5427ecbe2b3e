// Goal: the user reads the outcome in one line, and the exit status tells whether trying again
// helps. Method: a pod of 4 GiB, and a controller that does what the test says when the request is
// there.
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

    static PodInfo pod(int containers = 1) {
        PodInfo pod = build::pod("p", build::native(gibibytes(4)));
        Allocation allocation = build::allocation(
            pod, "n", {{.uuid = GpuUuid("GPU-a"), .index = 1, .memory = gibibytes(4)}});
        for (int i = 1; i < containers; ++i) {
            allocation.containers.push_back(allocation.containers.front());
            allocation.containers.back().container = "side";
        }
        return build::bound(pod, allocation);
    }
    // The controller grants the request.
    void grant() {
        const auto shown = pods_.read(kName);
        Allocation after = **shown->info.allocation;
        ++after.revision;
        for (const auto& wanted : (*shown->info.resize)->containers) {
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
        EXPECT_TRUE(pods_.write(shown->info.uid, kName, shown->version, annotations));
    }
    Result<std::string> request(ResizeRequest with) {
        with.pod = kName;
        with.id = "1";
        return request_resize(pods_, clock_, with);
    }
    Error refused(ResizeRequest with) {
        const auto said = request(std::move(with));
        EXPECT_FALSE(said) << *said;
        return said ? Error{} : said.error();
    }

    FakePodResizes pods_;
    FakeClock clock_;
};

TEST_F(ResizeCommandTest, SaysWhatChanged) {
    pods_.on_write([this] { grant(); });
    const auto said = request({.memory = gibibytes(6), .cores = Percent{20}});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said, "pod default/p: main on GPU 1: memory 4Gi -> 6Gi, cores 0 -> 20");
    const auto again = request({.memory = gibibytes(6)});
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, "pod default/p: has that already");
}

TEST_F(ResizeCommandTest, SaysWhyItWasRefused) {
    pods_.on_write([this] {
        write(
            {{std::string(key::kResizeRefused),
              write_resize_refusal(pods_.read(kName)->requested, {Code::unavailable, "no room"})}});
    });
    EXPECT_EQ(refused({.memory = gibibytes(6)}),
              (Error{Code::conflict, "pod default/p: refused: no room"}));
}

// Goal: without an answer in time, the error says that the request remains open; a server that is
// briefly unavailable is asked again.
TEST_F(ResizeCommandTest, WaitsForAnAnswer) {
    const Error none = refused({.memory = gibibytes(6), .timeout = std::chrono::seconds(3)});
    EXPECT_EQ(none.code, Code::unavailable);
    EXPECT_NE(none.text.find("no answer within 3 s; the request remains open"), std::string::npos);
    EXPECT_EQ(pods_.reads(), 17) << "before, and every 200 ms";
    clock_.on_sleep([this, asked = 0]() mutable {
        if (++asked == 2) pods_.fail_next_read({Code::unavailable, "no answer"});
        if (asked == 5) grant();
    });
    EXPECT_TRUE(request({.memory = gibibytes(7)}));
}

// Goal: a request for one container keeps another container's open request.
TEST_F(ResizeCommandTest, RequestsForTwoContainers) {
    pods_.put(pod(2));
    EXPECT_FALSE(request({.container = "main", .memory = gibibytes(6), .timeout = {}}));
    pods_.on_resize_request([this] { pods_.touch(kName); });
    pods_.on_write([this] { grant(); });
    const auto said = request({.container = "side", .memory = gibibytes(5)});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said,
              "pod default/p: main on GPU 1: memory 4Gi -> 6Gi; side on GPU 1: memory 4Gi "
              "-> 5Gi");
}

// Goal: a request for another amount of the same container also keeps the open one, whose caller
// goes on waiting.
TEST_F(ResizeCommandTest, RequestsForTwoAmountsAtOnce) {
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(request({.cores = Percent{5}, .timeout = {}}));
        } else if (looked == 2) {
            grant();
        }
    });
    const auto said = request({.memory = gibibytes(6)});
    ASSERT_TRUE(said) << said.error().text;
    EXPECT_EQ(*said, "pod default/p: main on GPU 1: memory 4Gi -> 6Gi, cores 0 -> 5");
}

// Goal: of two requests for one amount the later one counts, and the earlier caller gets an error.
TEST_F(ResizeCommandTest, TheLaterRequestForAnAmountCounts) {
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(request({.memory = gibibytes(7), .timeout = {}}));
        }
    });
    EXPECT_NE(refused({.memory = gibibytes(6)}).text.find("another request has replaced this one"),
              std::string::npos);
}

// Goal: a caller goes on waiting if another's request includes its own, and learns that it was
// granted even if the annotation has another text by then.
TEST_F(ResizeCommandTest, IsAnsweredBesideAnothersRequest) {
    pods_.put(pod(2));
    clock_.on_sleep([this, looked = 0]() mutable {
        if (++looked == 1) {
            EXPECT_FALSE(request({.container = "side", .memory = gibibytes(5), .timeout = {}}));
        } else if (looked == 2) {
            grant();
            pods_.set_resize_request(kName, "another");
        }
    });
    const auto said = request({.container = "main", .memory = gibibytes(6)});
    ASSERT_TRUE(said) << said.error().text;
}

// Goal: a refused request is not repeated in the next request.
TEST_F(ResizeCommandTest, ARefusedRequestIsOver) {
    pods_.put(pod(2));
    pods_.on_write([this] {
        write(
            {{std::string(key::kResizeRefused),
              write_resize_refusal(pods_.read(kName)->requested, {Code::unavailable, "no room"})}});
    });
    EXPECT_FALSE(request({.container = "main", .memory = gibibytes(6)}));
    EXPECT_FALSE(request({.container = "side", .memory = gibibytes(5), .timeout = {}}));
    EXPECT_EQ(read_resize_request(pods_.read(kName)->requested)->containers.size(), 1U);
}

TEST_F(ResizeCommandTest, WhatElseMayComeBetween) {
    pods_.on_write([this] { pods_.set_resize_request(kName, "another"); });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::conflict);
    pods_.on_write([this] {
        PodInfo namesake = pod();
        namesake.uid = PodUid("another");
        pods_.put(namesake);
    });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
    pods_.put(pod());
    pods_.on_write([this] { pods_.remove(kName); });
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
}

// Goal: an invalid request is refused at once, and nothing is written.
TEST_F(ResizeCommandTest, WhatCannotBeAsked) {
    EXPECT_EQ(refused({}).text, "nothing to change: give --memory, --cores or --compute-limit");
    pods_.put(pod(2));
    EXPECT_EQ(refused({.memory = gibibytes(6)}).text,
              "--container: missing; pod default/p has main, side");
    pods_.put(build::pod("p", build::native(gibibytes(4))));
    EXPECT_EQ(refused({.memory = gibibytes(6)}),
              (Error{Code::conflict, "pod default/p is not placed yet"}));
    PodInfo plain = build::pod("p", {});
    plain.node = NodeName("n");
    pods_.put(plain);
    EXPECT_EQ(refused({.memory = gibibytes(6)}).text,
              "pod default/p has no GPU share from Tessera");
    pods_.remove(kName);
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::not_found);
    pods_.put(pod());
    EXPECT_EQ(pods_.read(kName)->requested, "");
    pods_.fail_next_write({Code::permission_denied, "no right"});
    EXPECT_EQ(refused({.memory = gibibytes(6)}).code, Code::permission_denied);
}

}  // namespace
}  // namespace tessera

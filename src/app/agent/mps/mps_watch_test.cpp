#include "app/agent/mps/mps_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fakes/fake_mps_daemons.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

const GpuUuid kGpu{"GPU-a"};

class MpsWatchTest : public testing::Test {
  protected:
    MpsWatchTest() {
        daemons.wants[kGpu] = {.threads = {25}, .memory = gibibytes(4)};
        daemons.states[kGpu] = {.gpu = kGpu, .phase = MpsPhase::ready, .pid = 7};
        for (const char* name : {"a", "b"})
            add(name, "team", kGpu);
    }
    void add(const std::string& name, const std::string& ns, const GpuUuid& gpu) {
        daemons.started.push_back({.pod = PodUid("uid-" + name),
                                   .container = "main",
                                   .name = {ns, name},
                                   .gpu = gpu,
                                   .threads = {25},
                                   .memory = gibibytes(3)});
    }
    void fault(const std::string& pod, std::int64_t unix_ns) {
        daemons.states[kGpu].faults.push_back(
            {.client = {.pid = 4711, .pod = PodUid(pod)}, .unix_ns = unix_ns});
    }
    // "a GpuLost": what was told since the last call.
    std::vector<std::string> told() {
        std::vector<std::string> out;
        for (const PodEvent& event : events.reported)
            out.push_back(event.name.name + " " + event.reason);
        texts.clear();
        for (const PodEvent& event : std::exchange(events.reported, {}))
            texts.push_back(event.message);
        return out;
    }
    std::vector<std::string> look() {
        watch.look();
        return told();
    }

    using Told = std::vector<std::string>;

    FakeMpsDaemons daemons;
    FakePodEvents events;
    MpsWatch watch{daemons, daemons, events};
    std::vector<std::string> texts;  // of the last told()
};

// Goal: the pod whose program had the error learns it, the others that it was another's, and pods
// of other GPUs nothing.
TEST_F(MpsWatchTest, AFaultIsToldToAllOfItsGpu) {
    add("other", "team", GpuUuid("GPU-b"));
    add("foreign", "others", kGpu);
    EXPECT_EQ(look(), Told{});
    fault("uid-a", 100);
    EXPECT_EQ(look(), (Told{"a GpuFatalError", "b GpuLost", "foreign GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("process 4711 of the node) had a fatal error on GPU-a"));
    EXPECT_THAT(texts[0], HasSubstr("for the 1. time"));
    EXPECT_THAT(texts[1], HasSubstr("a program of pod a had a fatal error"));
    EXPECT_THAT(texts[2], HasSubstr("a program of another pod had a fatal error"));
    // The server is ended after it, which is no news.
    EXPECT_EQ(look(), Told{});
    fault("uid-a", 200);
    daemons.states[kGpu].servers_lost = 1;
    EXPECT_EQ(look(), (Told{"a GpuFatalError", "b GpuLost", "foreign GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("for the 2. time"));
    EXPECT_EQ(daemons.all_told[kGpu].faults, (std::map<PodUid, int>{{PodUid("uid-a"), 2}}));
}

// Goal: an agent that was killed leaves nothing out and repeats nothing.
TEST_F(MpsWatchTest, ANewAgentGoesOn) {
    EXPECT_EQ(look(), Told{});
    fault("", 100);
    MpsWatch next(daemons, daemons, events);
    next.look();
    EXPECT_EQ(told(), (Told{"a GpuLost", "b GpuLost"}));
    MpsWatch third(daemons, daemons, events);
    third.look();
    EXPECT_EQ(told(), Told{});
}

TEST_F(MpsWatchTest, TheEndOfMpsIsTold) {
    EXPECT_EQ(look(), Told{});
    daemons.states[kGpu].servers_lost = 1;
    EXPECT_EQ(look(), (Told{"a GpuLost", "b GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("its server ended"));
    EXPECT_EQ(look(), Told{});
    daemons.states[kGpu].pid = 0;
    daemons.states[kGpu].phase = MpsPhase::starting;
    EXPECT_EQ(look(), Told{});
    daemons.states[kGpu].pid = 8;
    daemons.states[kGpu].phase = MpsPhase::ready;
    EXPECT_EQ(look(), (Told{"a GpuLost", "b GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("its control daemon ended"));
    EXPECT_EQ(look(), Told{});
    // A supervisor that starts again counts from zero.
    daemons.states[kGpu].servers_lost = 0;
    EXPECT_EQ(look(), Told{});
}

TEST_F(MpsWatchTest, ADaemonThatFailsForLongIsTold) {
    daemons.states[kGpu].phase = MpsPhase::failed;
    daemons.states[kGpu].reason = "no answer";
    for (int i = 1; i < MpsWatch::kFailedLooks; ++i)
        EXPECT_EQ(look(), Told{});
    EXPECT_EQ(look(), (Told{"a MpsNotServing", "b MpsNotServing"}));
    EXPECT_THAT(texts[0], HasSubstr("cannot use GPU-a: no answer"));
    EXPECT_EQ(look(), Told{});
}

}  // namespace
}  // namespace tessera

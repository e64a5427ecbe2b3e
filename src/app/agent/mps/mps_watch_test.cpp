#include "app/agent/mps/mps_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_mps_daemons.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

const GpuUuid gpu_a{"GPU-a"};

class MpsWatchTest : public testing::Test {
  protected:
    MpsWatchTest() {
        daemons.wants[gpu_a] = {.threads = {25}, .memory = gibibytes(4)};
        daemons.states[gpu_a] = {.gpu = gpu_a, .phase = MpsPhase::ready, .pid = 7};
        for (const char* name : {"a", "b"})
            add(name, "team", gpu_a);
    }
    void add(const std::string& name, const std::string& ns, const GpuUuid& gpu) {
        daemons.started.push_back({.pod = PodUid("uid-" + name),
                                   .container = "main",
                                   .name = {ns, name},
                                   .gpu = gpu,
                                   .threads = {25},
                                   .memory = gibibytes(3)});
    }
    void fault(const std::string& pod, bool is_confirmed = true) {
        daemons.states[gpu_a].faults.push_back({.client = {.pid = 4711, .pod = PodUid(pod)},
                                                .unix_ns = clock.unix_ns() + 1,
                                                .is_confirmed = is_confirmed});
    }
    // "a GpuLost": what was reported since the last call.
    std::vector<std::string> reported() {
        std::vector<std::string> out;
        out.reserve(events.reported.size());
        for (const PodEvent& event : events.reported)
            out.push_back(event.name.name + " " + event.reason);
        texts.clear();
        for (const PodEvent& event : std::exchange(events.reported, {}))
            texts.push_back(event.message);
        return out;
    }
    std::vector<std::string> look(std::chrono::seconds passed = std::chrono::seconds(1)) {
        clock.advance(passed);
        daemons.states[gpu_a].checked_unix_ns = clock.unix_ns();
        watch.look();
        return reported();
    }

    using Reported = std::vector<std::string>;

    FakeClock clock;
    FakeMpsDaemons daemons;
    FakePodEvents events;
    MpsWatch watch{daemons, daemons, events, clock};
    std::vector<std::string> texts;  // of the last reported()
};

// Goal: the pod whose program had the error learns it, the others that it was another's, and pods
// of other GPUs nothing.
TEST_F(MpsWatchTest, AFaultIsReportedToAllOfItsGpu) {
    add("other", "team", GpuUuid("GPU-b"));
    add("foreign", "others", gpu_a);
    EXPECT_EQ(look(), Reported{});
    fault("uid-a");
    EXPECT_EQ(look(), (Reported{"a GpuFatalError", "b GpuLost", "foreign GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("process 4711 of the node) had a fatal error on GPU-a"));
    EXPECT_THAT(texts[0], HasSubstr("for the 1. time"));
    EXPECT_THAT(texts[1], HasSubstr("a program of pod a had a fatal error"));
    EXPECT_THAT(texts[2], HasSubstr("a program of another pod had a fatal error"));
    // The server is ended after it, which is no news.
    daemons.states[gpu_a].servers_lost = 1;
    EXPECT_EQ(look(std::chrono::seconds(6)), Reported{});
    fault("uid-a");
    EXPECT_EQ(look(), (Reported{"a GpuFatalError", "b GpuLost", "foreign GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("for the 2. time"));
    EXPECT_EQ(daemons.all_reported[gpu_a].faults, (std::map<PodUid, int>{{PodUid("uid-a"), 2}}));
}

// Goal: a line that a container had written in a log blames no pod, and hides no other event.
TEST_F(MpsWatchTest, AForgedFaultIsNotReported) {
    EXPECT_EQ(look(), Reported{});
    fault("uid-b", false);
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].servers_lost = 1;
    EXPECT_EQ(look(), (Reported{"a GpuLost", "b GpuLost"}));
}

// Goal: an agent that was killed leaves nothing out and repeats nothing.
TEST_F(MpsWatchTest, ANewAgentGoesOn) {
    EXPECT_EQ(look(), Reported{});
    fault("");
    MpsWatch next(daemons, daemons, events, clock);
    next.look();
    EXPECT_EQ(reported(), (Reported{"a GpuLost", "b GpuLost"}));
    MpsWatch third(daemons, daemons, events, clock);
    third.look();
    EXPECT_EQ(reported(), Reported{});
}

// Goal: a pod is an offender from the fault on that an administrator has set, also for an agent
// that starts later, and no longer when it has gone.
TEST_F(MpsWatchTest, NamesOffenders) {
    const auto run = [&](MpsWatch& one) {
        clock.advance(std::chrono::seconds(1));
        one.look();
        return one.offenders(gpu_a);
    };
    const std::vector<PodUid> none;
    const std::vector<PodUid> a{PodUid("uid-a")};
    MpsWatch strict(daemons, daemons, events, clock, 2);
    EXPECT_EQ(run(strict), none);
    fault("uid-a");
    EXPECT_EQ(run(strict), none);
    for (int i = 0; i < 3; ++i) {
        fault("uid-a", false);
        EXPECT_EQ(run(strict), none) << "a line of a log alone names no offender";
    }
    fault("uid-b");
    EXPECT_EQ(run(strict), none);
    fault("uid-a");
    EXPECT_EQ(run(strict), a);
    EXPECT_EQ(strict.offenders(GpuUuid("GPU-b")), none);
    MpsWatch next(daemons, daemons, events, clock, 2);
    EXPECT_EQ(run(next), a);
    MpsWatch lenient(daemons, daemons, events, clock);
    EXPECT_EQ(run(lenient), none);
    daemons.started.erase(daemons.started.begin());
    EXPECT_EQ(run(next), none);
}

TEST_F(MpsWatchTest, TheEndOfMpsIsReported) {
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].servers_lost = 1;
    EXPECT_EQ(look(), (Reported{"a GpuLost", "b GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("its server ended"));
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].pid = 0;
    daemons.states[gpu_a].phase = MpsPhase::starting;
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].pid = 8;
    daemons.states[gpu_a].phase = MpsPhase::ready;
    EXPECT_EQ(look(), (Reported{"a GpuLost", "b GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("its control daemon ended"));
    EXPECT_EQ(look(), Reported{});
    // The GPU leaves MPS mode and enters it again: another daemon is no news.
    const std::vector<MpsGrant> pods = std::exchange(daemons.started, {});
    daemons.states[gpu_a].phase = MpsPhase::stopping;
    EXPECT_EQ(look(), Reported{});
    daemons.started = pods;
    daemons.states[gpu_a].phase = MpsPhase::ready;
    daemons.states[gpu_a].pid = 9;
    EXPECT_EQ(look(), Reported{});
    // A supervisor that starts again counts from zero.
    daemons.states[gpu_a].servers_lost = 0;
    EXPECT_EQ(look(), Reported{});
}

// Goal: an administrator who deletes tessera-mps takes the GPU from its pods, which learn it once.
TEST_F(MpsWatchTest, TheEndOfTheSupervisorIsReported) {
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].phase = MpsPhase::stopping;
    EXPECT_EQ(look(), (Reported{"a GpuLost", "b GpuLost"}));
    EXPECT_THAT(texts[0], HasSubstr("tessera-mps ends"));
    daemons.states[gpu_a].phase = MpsPhase::failed;
    daemons.states[gpu_a].pid = 0;
    EXPECT_EQ(look(), Reported{});
    daemons.states[gpu_a].phase = MpsPhase::ready;
    daemons.states[gpu_a].pid = 8;
    EXPECT_EQ(look(), Reported{});
}

TEST_F(MpsWatchTest, ADaemonThatFailsForLongIsReported) {
    daemons.states[gpu_a].phase = MpsPhase::failed;
    daemons.states[gpu_a].reason = "no answer";
    for (int i = 1; i < MpsWatch::kFailedLooks; ++i)
        EXPECT_EQ(look(), Reported{});
    EXPECT_EQ(look(), (Reported{"a MpsNotServing", "b MpsNotServing"}));
    EXPECT_THAT(texts[0], HasSubstr("cannot use GPU-a: no answer"));
    EXPECT_EQ(look(), Reported{});
}

TEST_F(MpsWatchTest, ASupervisorThatDoesNotRunIsReported) {
    EXPECT_EQ(look(), Reported{});
    daemons.supervised = false;
    for (int i = 1; i < MpsWatch::kFailedLooks; ++i)
        EXPECT_EQ(look(), Reported{});
    EXPECT_EQ(look(), (Reported{"a MpsNotServing", "b MpsNotServing"}));
    EXPECT_THAT(texts[0], HasSubstr("tessera-mps does not run on this node"));
}

}  // namespace
}  // namespace tessera

#include "domain/scheduling/resize_grant.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "domain/allocation/resize_text.hpp"
#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

constexpr auto kApp = ContainerKind::app;

GpuShare share(int gpu, int gib, int cores = 0, int cores_limit = 100) {
    return {.uuid = GpuUuid("GPU-n-" + std::to_string(gpu)),
            .index = gpu,
            .memory = gibibytes(gib),
            .cores = {cores},
            .cores_limit = {cores_limit}};
}

// "main" has 4 GiB and 30 percent of GPU 0, "side" 2 GiB of both GPUs, "large" all of GPU 2.
Allocation example() {
    GpuShare whole = share(2, 16);
    whole.whole = true;
    return {PodUid("u"),
            NodeName("n"),
            &kNativeDialect,
            {{"main", kApp, {share(0, 4, 30)}},
             {"side", kApp, {share(0, 2), share(1, 2)}},
             {"large", kApp, {whole}}}};
}

// Three GPUs of 16 GiB; other pods have 6 GiB and 50 percent of GPU 0, and GPU 1 is unhealthy.
class TestGpus {
  public:
    [[nodiscard]] ResizeRoom of(MemoryUnit unit = MemoryUnit::gib) const {
        return {node_.gpus, gpus_, unit};
    }

    TestGpus() {
        node_.gpus[1].condition = GpuCondition::unhealthy;
        node_.gpus[1].reason = "Xid 79";
        gpus_[0].allocated = gibibytes(6);
        gpus_[0].allocated_cores = {50};
        gpus_[1].usable = false;
    }

  private:
    NodeInventory node_ = build::node("n", 3, gibibytes(16));
    std::vector<GpuState> gpus_ = std::vector<GpuState>(3, GpuState{.capacity = gibibytes(16)});
};

using Wanted = RequestedShares::Container;

// Goal: a possible request is granted exactly. Method: a table of requests with the change in
// words.
TEST(Resize, Grants) {
    struct Case {
        std::vector<Wanted> requested;
        const char* text;
    };
    const std::vector<Case> cases = {
        {{{"main", gibibytes(8), {}, {}}}, "main on GPU 0: memory 4Gi -> 8Gi"},
        {{{"main", kSmallestShare, {}, {}}}, "main on GPU 0: memory 4Gi -> 2Mi"},
        {{{"main", Bytes{5'000'000'000}, {}, {}}}, "main on GPU 0: memory 4Gi -> 4769Mi"},
        // A change of less than 1 MiB shows.
        {{{"main", gibibytes(4) - Bytes{1}, {}, {}}}, "main on GPU 0: memory 4Gi -> 4294967295"},
        {{{"main", {}, Percent{50}, {}}}, "main on GPU 0: cores 30 -> 50"},
        {{{"main", {}, Percent{0}, {}}}, "main on GPU 0: cores 30 -> 0"},
        {{{"main", {}, {}, Percent{30}}}, "main on GPU 0: compute limit 100 -> 30"},
        {{{"main", gibibytes(1), Percent{1}, Percent{2}}},
         "main on GPU 0: memory 4Gi -> 1Gi, cores 30 -> 1, compute limit 100 -> 2"},
        {{{"side", gibibytes(1), {}, {}}},
         "side on GPU 0: memory 2Gi -> 1Gi; side on GPU 1: memory 2Gi -> 1Gi"},
        {{{"main", gibibytes(9), {}, {}}, {"side", gibibytes(1), {}, {}}},
         "main on GPU 0: memory 4Gi -> 9Gi; side on GPU 0: memory 2Gi -> 1Gi; "
         "side on GPU 1: memory 2Gi -> 1Gi"},
        {{{"main", {}, {}, {}}}, ""},
    };
    const TestGpus gpus;
    for (const Case& c : cases) {
        const RequestedShares requested{c.requested};
        const auto after = resize(example(), requested, gpus.of());
        ASSERT_TRUE(after) << after.error().text;
        EXPECT_EQ(resize_text(example(), *after), c.text);
        EXPECT_EQ(after->revision, 1);
        EXPECT_TRUE(is_granted(requested, *after));
        EXPECT_EQ(is_granted(requested, example()), *c.text == '\0');
        EXPECT_TRUE(is_resize_of(example(), *after));
        EXPECT_FALSE(is_resize_of(*after, example()));
    }
}

// Goal: an impossible request is refused with the reason, and with a code that says whether it may
// be possible later. Method: a table.
TEST(Resize, Refuses) {
    struct Case {
        Wanted requested;
        Code code;
        const char* text;
    };
    const std::vector<Case> cases = {
        {{"mian", gibibytes(1), {}, {}},
         Code::not_found,
         "the pod has no container mian with a share of a GPU; it has main, side, large"},
        {{"large", {}, Percent{10}, {}},
         Code::unsupported,
         "container large has whole GPUs: there is nothing to resize"},
        {{"main", mebibytes(1), {}, {}},
         Code::invalid_argument,
         "container main: memory: 1Mi is less than 2Mi, the smallest amount that a GPU allocates"},
        {{"main", gibibytes(17), {}, {}},
         Code::invalid_argument,
         "container main: memory: 17Gi is more than GPU 0 has, 16Gi"},
        {{"main", {}, Percent{101}, {}},
         Code::invalid_argument,
         "container main: cores: 101 is not a percentage of one GPU; write 0 to 100"},
        {{"main", {}, Percent{-1}, {}},
         Code::invalid_argument,
         "container main: cores: -1 is not a percentage of one GPU; write 0 to 100"},
        {{"main", {}, {}, Percent{0}},
         Code::invalid_argument,
         "container main: compute limit: 0 is not a percentage of one GPU; write 1 to 100"},
        {{"main", {}, {}, Percent{29}},
         Code::invalid_argument,
         "container main: compute limit: 29 percent would be below the cores, 30 percent; raise "
         "the compute limit too"},
        {{"main", gibibytes(9), {}, {}},
         Code::unavailable,
         "no room on GPU 0: the pod would hold 11Gi of it, and beside the others it can have "
         "10Gi"},
        {{"main", {}, Percent{51}, {}},
         Code::unavailable,
         "no room on GPU 0: the pod would be guaranteed 51 percent of it, and beside the others "
         "it can have 50"},
        {{"side", gibibytes(3), {}, {}}, Code::unavailable, "GPU 1 is out of use: Xid 79"},
    };
    const TestGpus gpus;
    for (const Case& c : cases) {
        const auto after = resize(example(), {{c.requested}}, gpus.of());
        ASSERT_FALSE(after) << c.text;
        EXPECT_EQ(after.error().text, c.text);
        EXPECT_EQ(after.error().code, c.code) << c.text;
    }
}

// Goal: a pod of gpushare's dialect has whole units of its node, as its annotations state.
TEST(Resize, GpushareCountsInUnits) {
    Allocation aliyun = example();
    aliyun.dialect = &kGpushareDialect;
    const TestGpus gpus;
    const RequestedShares odd{{{"main", mebibytes(1536), {}, {}}}};
    const auto refused = resize(aliyun, odd, gpus.of());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "container main: memory: 1.5Gi is no multiple of 1Gi, in which its node counts the "
              "pod's aliyun.com/gpu-mem");
    EXPECT_TRUE(resize(aliyun, odd, gpus.of(MemoryUnit::mib)));
    EXPECT_TRUE(resize(example(), odd, gpus.of())) << "of the native dialect";
}

// Goal: a share on a GPU that has left the node can shrink, but not grow.
TEST(Resize, OfAGpuThatIsGone) {
    Allocation gone = example();
    gone.containers[0].gpus[0].uuid = GpuUuid("GPU-gone");
    const TestGpus gpus;
    EXPECT_TRUE(resize(gone, {{{"main", gibibytes(3), {}, {}}}}, gpus.of()));
    const auto more = resize(gone, {{{"main", gibibytes(5), {}, {}}}}, gpus.of());
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().text, "GPU GPU-gone is no longer on this node");
}

// Goal: only amounts may differ between an allocation and a resize of it. Method: one thing changed
// at a time.
TEST(Resize, TheGpusStay) {
    const auto changed = [](const std::function<void(Allocation&)>& change) {
        Allocation after = example();
        after.revision = 1;
        change(after);
        return is_resize_of(example(), after);
    };
    EXPECT_TRUE(changed([](Allocation& a) { a.containers[0].gpus[0].memory = {1}; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.revision = 0; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.pod = PodUid("v"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.node = NodeName("m"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.dialect = &kGpushareDialect; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers.pop_back(); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].container = "x"; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].kind = ContainerKind::init; }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[1].gpus.pop_back(); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].gpus[0].uuid = GpuUuid("x"); }));
    EXPECT_FALSE(changed([](Allocation& a) { a.containers[0].gpus[0].whole = true; }));
}

TEST(Resize, AnUnknownOrAWholeContainerIsNeverGranted) {
    EXPECT_FALSE(is_granted({{{"mian", {}, {}, {}}}}, example()));
    EXPECT_FALSE(is_granted({{{"large", {}, {}, {}}}}, example()));
}

// Goal: a granted share fits on each GPU beside the other pods, or the pod had it already. Method:
// random pods, other pods and requests.
REACHING_PROP(ResizeProperty, NeverBeyondAGpu) {
    const auto draw = [](int least, int most) { return *rc::gen::inRange(least, most + 1); };
    const NodeInventory node = build::node("n", 2, gibibytes(16));
    Allocation now{PodUid("u"), NodeName("n"), &kNativeDialect, {}};
    for (int i = 0; i < 3; ++i) {
        const auto kind = static_cast<ContainerKind>(draw(0, 2));
        now.containers.push_back(
            {"c" + std::to_string(i), kind, {share(draw(0, 1), draw(1, 5), draw(0, 30))}});
    }
    const auto before = allocated_by_gpu(now.containers);
    std::vector<GpuState> gpus(2, GpuState{.capacity = gibibytes(16)});
    for (GpuState& gpu : gpus) {
        gpu.allocated = gibibytes(draw(0, 16));
        gpu.allocated_cores = {draw(0, 100)};
    }
    RequestedShares requested;
    for (int i = draw(0, 2); i >= 0; --i)
        requested.containers.push_back(
            {"c" + std::to_string(i), gibibytes(draw(1, 16)), Percent{draw(0, 100)}, {}});
    const auto after = resize(now, requested, {node.gpus, gpus, MemoryUnit::gib});
    reached(after.has_value());
    if (!after) return;
    RC_ASSERT(is_granted(requested, *after));
    for (const GpuAllocation& on_gpu : allocated_by_gpu(after->containers)) {
        const auto gpu = static_cast<std::size_t>(on_gpu.uuid == node.gpus[0].uuid ? 0 : 1);
        const auto was = std::ranges::find(before, on_gpu.uuid, &GpuAllocation::uuid);
        RC_ASSERT(was != before.end());
        RC_ASSERT(on_gpu.memory <= std::max(was->memory, gpus[gpu].free()));
        RC_ASSERT(on_gpu.cores.value <=
                  std::max(was->cores.value, 100 - gpus[gpu].allocated_cores.value));
    }
    RC_ASSERT(larger(before, allocated_by_gpu(after->containers)).size() == before.size());
}

}  // namespace
}  // namespace tessera

#include "domain/placement/place.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "domain/placement/fit_error.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

using build::container;

constexpr auto kGib = MemoryUnit::gib;
const std::string kMem(resource::kAliyunMem);
const std::string kCount(resource::kAliyunCount);
const std::string kPercentage(resource::kAliyunCores);

std::vector<GpuState> gpus(int count, int gib) {
    return std::vector<GpuState>(static_cast<std::size_t>(count),
                                 GpuState{.capacity = gibibytes(gib)});
}

// The GPUs that best fit takes; empty if there are none.
std::vector<int> place(const std::vector<ContainerSpec>& containers, std::span<const GpuState> on,
                       MemoryUnit unit = kGib) {
    const ContainerRequests request = build::request(containers);
    Placer placer(request);
    const Assignment* assignment = placer.try_node(build::node_info(on, unit).node_gpus());
    return assignment == nullptr ? std::vector<int>{} : assignment->gpus;
}

using Gpus = std::vector<int>;

// Goal: the choices of gpushare's scheduler on 2 GPUs of 16 (docs/research/gpushare.md §2.5).
// Method: its own sequence; each allocation counts before the next request.
TEST(Place, BestFitAsGpushare) {
    auto two = gpus(2, 16);
    const std::vector<std::pair<int, int>> steps = {{8, 0}, {5, 0}, {4, 1}, {3, 0}};
    for (const auto& [units, expected] : steps) {
        const Gpus chosen = place(build::aliyun(units), two);
        ASSERT_EQ(chosen, Gpus{expected}) << units;
        two[static_cast<std::size_t>(expected)].allocated += gibibytes(units);
        two[static_cast<std::size_t>(expected)].pods += 1;
    }
    EXPECT_EQ(two[0].free(), gibibytes(0));
    EXPECT_EQ(two[1].free(), gibibytes(12));
}

// Goal: the GPU with the least free memory that is enough wins; among equals the lowest index. A
// GPU that is too full, unhealthy or short of compute never does. Method: a table of GPU states.
TEST(Place, ChoosesAmongGpus) {
    struct Case {
        const char* what;
        std::vector<GpuState> on;
        std::vector<ContainerSpec> containers;
        Gpus expected;
    };
    const auto allocated = [](int gib, int cores = 0, bool healthy = true) {
        return GpuState{gibibytes(16), gibibytes(gib), {cores}, gib > 0 ? 1 : 0, healthy};
    };
    const std::vector<ContainerSpec> with_cores = {
        container("main", {{kMem, "4"}, {kPercentage, "50"}})};
    const std::vector<Case> cases = {
        {"tie", {allocated(0), allocated(0)}, build::aliyun(4), {0}},
        {"fuller GPU", {allocated(0), allocated(8), allocated(4)}, build::aliyun(4), {1}},
        {"fullest is too full", {allocated(0), allocated(13), allocated(4)}, build::aliyun(4), {2}},
        {"exactly the rest", {allocated(0), allocated(12)}, build::aliyun(4), {1}},
        {"all of a GPU", {allocated(1), allocated(0)}, build::aliyun(16), {1}},
        {"nothing is enough", {allocated(13), allocated(14)}, build::aliyun(4), {}},
        {"no GPUs", {}, build::aliyun(1), {}},
        {"unhealthy is skipped", {allocated(8, 0, false), allocated(0)}, build::aliyun(4), {1}},
        {"only unhealthy", {allocated(0, 0, false)}, build::aliyun(1), {}},
        {"compute is short", {allocated(8, 60), allocated(0, 50)}, with_cores, {1}},
        {"compute is short everywhere", {allocated(8, 60), allocated(0, 51)}, with_cores, {}},
        {"no compute asked", {allocated(8, 100), allocated(0)}, build::aliyun(4), {0}},
        {"whole GPU", {allocated(1), allocated(0)}, build::whole(), {1}},
        {"no whole GPU left", {allocated(1), allocated(1)}, build::whole(), {}},
        {"two whole GPUs", {allocated(0), allocated(1), allocated(0)}, build::whole(2), {0, 2}},
        {"too few whole GPUs", {allocated(0), allocated(1), allocated(2)}, build::whole(2), {}},
        {"distinct GPUs", {allocated(0), allocated(0)}, build::native(gibibytes(4), 2), {0, 1}},
        {"fuller GPUs first",
         {allocated(0), allocated(8), allocated(4)},
         build::native(gibibytes(4), 2),
         {1, 2}},
        {"more GPUs than there are",
         {allocated(0), allocated(0)},
         build::native(gibibytes(4), 3),
         {}},
        {"one of the GPUs is too full",
         {allocated(0), allocated(15)},
         build::native(gibibytes(4), 2),
         {}},
    };
    for (const Case& c : cases)
        EXPECT_EQ(place(c.containers, c.on), c.expected) << c.what;
}

// Goal: a whole GPU is one that no other pod has a share of, even a share of size 0.
TEST(Place, WholeGpuIsShared) {
    std::vector<GpuState> on = gpus(1, 16);
    on[0].pods = 1;
    EXPECT_EQ(place(build::whole(), on), Gpus{});
    on[0].pods = 0;
    EXPECT_EQ(place(build::whole(), on), Gpus{0});
}

// Goal: the GPUs of one node may differ in size; the request is converted for each of them.
TEST(Place, DifferentGpusOnOneNode) {
    const std::vector<GpuState> on = {{.capacity = gibibytes(80)}, {.capacity = gibibytes(24)}};
    EXPECT_EQ(place(build::aliyun(20), on), Gpus{1});
    EXPECT_EQ(place(build::aliyun(25), on), Gpus{0});
    EXPECT_EQ(place(build::whole(2), on), (Gpus{0, 1}));
    const auto given = containers_of(
        build::request(build::whole(2)), {.gpus = {1, 0}},
        std::vector{build::gpu("n", 0, gibibytes(80)), build::gpu("n", 1, gibibytes(24))}, kGib);
    EXPECT_EQ(given[0].gpus[0].memory, gibibytes(24));
    EXPECT_EQ(given[0].gpus[1].memory, gibibytes(80));
}

// Goal: aliyun.com/gpu-mem counts in the node's own unit; a quantity of bytes never does.
TEST(Place, UnitOfTheNode) {
    const std::vector<GpuState> on = {{.capacity = mebibytes(100)}};
    EXPECT_EQ(place(build::aliyun(100), on, MemoryUnit::mib), Gpus{0});
    EXPECT_EQ(place(build::aliyun(101), on, MemoryUnit::mib), Gpus{});
    EXPECT_EQ(place(build::aliyun(1), on, kGib), Gpus{});
    EXPECT_EQ(place(build::native(mebibytes(100)), on, kGib), Gpus{0});
}

// Goal: the containers of a pod share a GPU in the order in which they run: apps and sidecars
// together, an init container before them. Method: a table on one GPU of 16 with 2 in use.
TEST(Place, ContainersOfOnePodTogether) {
    struct Case {
        const char* what;
        std::vector<std::pair<ContainerKind, int>> containers;
        bool fits;
    };
    constexpr auto kApp = ContainerKind::app;
    constexpr auto kInit = ContainerKind::init;
    constexpr auto kSidecar = ContainerKind::sidecar;
    const std::vector<Case> cases = {
        {"two apps fit", {{kApp, 7}, {kApp, 7}}, true},
        {"two apps do not", {{kApp, 7}, {kApp, 8}}, false},
        {"init and app share", {{kInit, 14}, {kApp, 14}}, true},
        {"inits share", {{kInit, 14}, {kInit, 13}, {kApp, 1}}, true},
        {"init is too large", {{kInit, 15}, {kApp, 1}}, false},
        {"sidecar and app add up", {{kSidecar, 7}, {kApp, 8}}, false},
        {"sidecar and later init add up", {{kSidecar, 7}, {kInit, 8}, {kApp, 1}}, false},
        {"sidecar after init does not", {{kInit, 14}, {kSidecar, 7}, {kApp, 7}}, true},
    };
    std::vector<GpuState> on = gpus(1, 16);
    on[0].allocated = gibibytes(2);
    for (const Case& c : cases) {
        std::vector<ContainerSpec> containers;
        for (const auto& [kind, units] : c.containers)
            containers.push_back(container("c", {{kMem, std::to_string(units)}}, kind));
        EXPECT_EQ(!place(containers, on).empty(), c.fits) << c.what;
    }
}

// Goal: a pod's containers may be on different GPUs, each with enough free.
TEST(Place, ContainersOfOnePodApart) {
    const std::vector<ContainerSpec> two = {container("a", {{kMem, "10"}}),
                                            container("b", {{kMem, "10"}})};
    EXPECT_EQ(place(two, gpus(2, 16)), (Gpus{0, 1}));
    EXPECT_EQ(place(two, gpus(1, 16)), Gpus{});
    const std::vector<ContainerSpec> small = {container("a", {{kMem, "6"}}),
                                              container("b", {{kMem, "6"}})};
    EXPECT_EQ(place(small, gpus(2, 16)), (Gpus{0, 0}));
}

// Goal: the order of the containers does not decide needlessly: a small one does not take the only
// GPU that is large enough for another. The result is in the pod's order.
TEST(Place, SmallContainersBeforeLargeOnes) {
    const std::vector<GpuState> on = {{.capacity = gibibytes(15)}, {.capacity = gibibytes(24)}};
    const auto apps = [](const std::vector<int>& sizes) {
        std::vector<ContainerSpec> out;
        for (const int gib : sizes)
            out.push_back(container("c", {{kMem, std::to_string(gib)}}));
        return out;
    };
    EXPECT_EQ(place(apps({15, 15, 4}), on), (Gpus{0, 1, 1}));
    EXPECT_EQ(place(apps({4, 15, 15}), on), (Gpus{1, 0, 1}));
    EXPECT_EQ(place(apps({4, 15, 16}), on), (Gpus{1, 0, 1}));
    EXPECT_EQ(place(apps({4, 15, 21}), on), Gpus{});

    std::vector<ContainerSpec> pod = apps({3});
    pod.insert(pod.begin(), container("init", {{kMem, "10"}}, ContainerKind::init));
    pod.insert(pod.begin() + 1, container("sidecar", {{kMem, "1"}}, ContainerKind::sidecar));
    pod.push_back(container("two", {{kMem, "24"}, {kCount, "2"}}));
    EXPECT_EQ(place(pod, on), (Gpus{0, 0, 1, 0, 1}));
}

// Goal: one placer works for many nodes, without memory of the last one.
TEST(Place, PlacerForgetsTheLastNode) {
    const ContainerRequests request = build::request(build::aliyun(10));
    Placer placer(request);
    const auto full = gpus(1, 4);
    const auto roomy = gpus(1, 16);
    ASSERT_NE(placer.try_node(build::node_info(roomy, kGib).node_gpus()), nullptr);
    const std::int64_t price = placer.try_node(build::node_info(roomy, kGib).node_gpus())->price;
    EXPECT_EQ(placer.try_node(build::node_info(full, kGib).node_gpus()), nullptr);
    ASSERT_NE(placer.try_node(build::node_info(roomy, kGib).node_gpus()), nullptr);
    EXPECT_EQ(placer.try_node(build::node_info(roomy, kGib).node_gpus())->price, price);
    EXPECT_EQ(placer.try_node(build::node_info(roomy, kGib).node_gpus())->gpus, Gpus{0});
}

// Goal: the price orders nodes: less free memory is cheaper, and what the pod's own containers take
// counts.
TEST(Place, PriceOrdersNodes) {
    const ContainerRequests request = build::request(build::aliyun(4));
    Placer placer(request);
    auto used = gpus(1, 16);
    used[0].allocated = gibibytes(8);
    const auto empty = gpus(1, 16);
    const std::int64_t empty_price =
        placer.try_node(build::node_info(empty, kGib).node_gpus())->price;
    const std::int64_t used_price =
        placer.try_node(build::node_info(used, kGib).node_gpus())->price;
    EXPECT_LT(used_price, empty_price);
    EXPECT_EQ(used_price, 4 * kGiB);
}

// Goal: the allocation lists the GPUs of each container, in the request's order.
TEST(ContainersOf, TurnsAFitIntoShares) {
    const ContainerRequests request = build::request({
        container("prepare", {{kMem, "6"}}, ContainerKind::init),
        container("main", {{kMem, "8"}, {kCount, "2"}, {kPercentage, "25"}}),
    });
    const std::vector<Gpu> gpus = {build::gpu("n", 0, gibibytes(16)),
                                   build::gpu("n", 1, gibibytes(16))};
    const auto given = containers_of(request, {.gpus = {1, 1, 0}}, gpus, kGib);
    ASSERT_EQ(given.size(), 2U);
    EXPECT_EQ(given[0],
              (ContainerAllocation{
                  "prepare", ContainerKind::init, {{gpus[1].uuid, 1, gibibytes(6), {0}, false}}}));
    EXPECT_EQ(given[1], (ContainerAllocation{"main",
                                             ContainerKind::app,
                                             {{gpus[1].uuid, 1, gibibytes(4), {25}, false},
                                              {gpus[0].uuid, 0, gibibytes(4), {25}, false}}}));
}

std::vector<GpuState> random_gpus() {
    std::vector<GpuState> out;
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) {
        const auto capacity = *rc::gen::inRange<std::int64_t>(1, 24);
        const auto allocated = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
        out.push_back({.capacity = gibibytes(capacity),
                       .allocated = gibibytes(allocated),
                       .allocated_cores = {*rc::gen::inRange(0, 101)},
                       .pods = allocated > 0 ? 1 : *rc::gen::inRange(0, 2),
                       .usable = *rc::gen::inRange(0, 5) > 0});
    }
    return out;
}

std::vector<ContainerSpec> random_containers() {
    std::vector<ContainerSpec> out;
    const bool native = *rc::gen::arbitrary<bool>();
    const int count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) {
        const int gpus = *rc::gen::inRange(1, 4);
        const int gib = *rc::gen::inRange(1, 12);
        const int cores = *rc::gen::inRange(0, 101);
        build::Limits limits;
        if (!native) {
            limits = {{kMem, std::to_string(gib * gpus)}, {kCount, std::to_string(gpus)}};
            if (cores > 0) limits.emplace_back(kPercentage, std::to_string(cores));
        } else {
            limits = {{std::string(gib < 8 ? resource::kGpuShare : resource::kGpu),
                       std::to_string(gpus)}};
            if (gib < 8) limits.emplace_back(resource::kGpuMemory, std::to_string(gib) + "Gi");
            if (gib < 8 && cores > 0)
                limits.emplace_back(resource::kGpuCores, std::to_string(cores));
        }
        const auto kind = static_cast<ContainerKind>(*rc::gen::inRange(0, 3));
        out.push_back(container("c" + std::to_string(i), limits, kind));
    }
    std::ranges::stable_sort(out, {},
                             [](const ContainerSpec& c) { return c.kind == ContainerKind::app; });
    return out;
}

// Goal: an assignment never takes more than there is. Method: random GPUs and pods. Add the
// assignment to the GPUs, and look for a GPU over its memory or compute, unhealthy, or shared
// although whole.
REACHING_PROP(PlaceProperty, AFitIsWithinEveryGpu) {
    const auto on = random_gpus();
    const ContainerRequests request = build::request(random_containers());
    Placer placer(request);
    const Assignment* assignment = placer.try_node(build::node_info(on, kGib).node_gpus());
    reached(assignment != nullptr);
    if (assignment == nullptr) {
        RC_ASSERT(!Explainer(request).explain(build::node_info(on).node_gpus()).message.empty());
        return;
    }
    std::vector<Gpu> gpus;
    for (std::size_t i = 0; i < on.size(); ++i)
        gpus.push_back(build::gpu("n", static_cast<int>(i), on[i].capacity));
    const auto given = containers_of(request, *assignment, gpus, kGib);
    for (const GpuAllocation& on_gpu : allocated_by_gpu(given)) {
        const auto at = std::ranges::find(gpus, on_gpu.uuid, &Gpu::uuid) - gpus.begin();
        const GpuState& gpu = on[static_cast<std::size_t>(at)];
        RC_ASSERT(gpu.usable);
        RC_ASSERT(gpu.allocated + on_gpu.memory <= gpu.capacity);
        RC_ASSERT((gpu.allocated_cores + on_gpu.cores).value <= 100);
    }
    for (const ContainerAllocation& c : given) {
        std::set<int> distinct;
        for (const GpuShare& share : c.gpus) {
            RC_ASSERT(distinct.insert(share.index).second);
            const GpuState& gpu = on[static_cast<std::size_t>(share.index)];
            RC_ASSERT(!share.whole || (gpu.pods == 0 && share.memory == gpu.capacity));
        }
    }
}

// Goal: for one share, best fit is optimal: no healthy GPU that fits has less free, and no fit is
// reported only if there is none. Method: compare with a plain search.
RC_GTEST_PROP(PlaceProperty, OneShareTakesTheTightestGpu, ()) {
    const auto on = random_gpus();
    const int units = *rc::gen::inRange(1, 24);
    std::vector<int> enough;
    for (std::size_t i = 0; i < on.size(); ++i) {
        if (on[i].usable && on[i].free() >= gibibytes(units)) enough.push_back(static_cast<int>(i));
    }
    const auto tightest = std::ranges::min_element(
        enough, {}, [&](int i) { return on[static_cast<std::size_t>(i)].free(); });
    RC_ASSERT(place(build::aliyun(units), on) == (enough.empty() ? Gpus{} : Gpus{*tightest}));
}

// Goal: "never" is only reported if no other state of these GPUs would help. Method: such a pod
// must not fit even if every GPU is empty and healthy.
REACHING_PROP(PlaceProperty, NeverMeansNever) {
    auto on = random_gpus();
    const ContainerRequests request = build::request(random_containers());
    Placer placer(request);
    const bool is_never = placer.try_node(build::node_info(on, kGib).node_gpus()) == nullptr &&
                          Explainer(request).explain(build::node_info(on).node_gpus()).never;
    reached(is_never);
    if (!is_never) return;
    for (GpuState& gpu : on)
        gpu = {.capacity = gpu.capacity};
    RC_ASSERT(placer.try_node(build::node_info(on, kGib).node_gpus()) == nullptr);
}

}  // namespace
}  // namespace tessera

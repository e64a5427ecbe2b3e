#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>

#include "app/agent/inventory/gpu_monitor_fixture_test.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

// An API server that accepts every call and answers none until answer() is called. It implements
// only the calls that the agent makes for its node.
class BlackHole final : public KubeApi {
  public:
    void answer() {
        const MutexLock lock(mutex_);
        answers_ = true;
        changed_.notify_all();
    }
    bool asked() {
        const MutexLock lock(mutex_);
        return asked_;
    }

    void follow_nodes(const std::function<void(NodeChanges)>&, const ErrorSink&,
                      std::stop_token) override {}
    void follow_pods(const std::function<void(PodChanges)>&, const ErrorSink&,
                     std::stop_token) override {}
    Result<> bind(const PodUid&, const PodName&, const NodeName&, const StringMap&) override {
        return wait();
    }
    Result<PodInfo> get_pod(const PodName&) override { return fail(wait().error()); }
    Result<std::vector<NodeInventory>> list_nodes() override { return fail(wait().error()); }
    Result<std::vector<PodInfo>> list_pods(const NodeName&) override {
        return fail(wait().error());
    }
    Result<std::vector<NodePod>> list_node_pods(const NodeName&) override {
        return fail(wait().error());
    }
    Result<NodeShown> node_shows(const NodeName&, const NodeWanted&) override {
        return fail(wait().error());
    }
    Result<> set_node_metadata(const NodeName&, const StringMap&, const StringMap&) override {
        return wait();
    }
    Result<> set_node_resources(const NodeName&, const StringMap&) override { return wait(); }

  private:
    Result<> wait() {
        MutexLock lock(mutex_);
        asked_ = true;
        changed_.wait(lock, [this]() TESSERA_REQUIRES(mutex_) { return answers_; });
        return fail(Code::unavailable, "no answer");
    }
    Mutex mutex_;
    std::condition_variable_any changed_;
    bool answers_ TESSERA_GUARDED_BY(mutex_) = false;
    bool asked_ TESSERA_GUARDED_BY(mutex_) = false;
};

// The driver of the first GPU limits memory, and that of the second as `second` says.
class SomeMemoryLimits final : public CgroupMemoryLimits {
  public:
    Result<> check_supported(const GpuUuid& gpu) override {
        if (gpu == GpuUuid("GPU-0")) return {};
        if (second || second.error().code != Code::unavailable) last_ = second;
        return second;
    }
    Result<> last_supported(const GpuUuid& gpu) const override {
        return gpu == GpuUuid("GPU-0") ? Result<>{} : last_;
    }
    Result<CgroupMemory> get(const GpuUuid&, const std::string&) override { return CgroupMemory{}; }
    Result<> set(const GpuUuid&, const std::string&, std::optional<Bytes>) override { return {}; }
    void close() override { closed = true; }
    void open() override { closed = false; }
    bool is_closed() const override { return closed; }

    Result<> second = fail(Code::unsupported, "the driver has no memory limits");
    bool closed = false;

  private:
    Result<> last_;
};

// Goal: the first state is sent once: one list per resource, one annotation, the totals.
TEST_F(GpuMonitorTest, PublishesOnce) {
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(plugins_.sent(kGpuShare), 1);
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 1);
    EXPECT_EQ(kube_.node_patches(), 1);
    EXPECT_EQ(kube_.node_resources(kNode).at("aliyun.com/gpu-count"), "2");
    EXPECT_EQ(published().identity, "nri");
    EXPECT_EQ(published().gpus, monitor_->inventory()->gpus);
    EXPECT_EQ(published().gpus.size(), 2U);
}

// Goal: one change of state sends one list per resource and one patch, whatever the number of
// devices (D-22 sent one list per device). Method: a fault of one GPU; then the driver says it is
// good.
TEST_F(GpuMonitorTest, OneChangeIsOneListAndOnePatch) {
    start();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    driver_.report({GpuUuid("GPU-1"), 79});
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 2; }));
    EXPECT_TRUE(usable(0));
    EXPECT_FALSE(usable(1));
    EXPECT_EQ(published().gpus[1].reason, "Xid 79");
    EXPECT_EQ(plugins_.sent(kGpuShare), 2);
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 2);
    const auto devices = plugins_.devices(kGpushareMemory);
    EXPECT_EQ(std::ranges::count(devices, false, &PluginDevice::healthy), 16);

    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[1].recovery = RecoveryAction::none;
    driver_.set(readings);
    trigger_read();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 3; }));
    EXPECT_TRUE(usable(1));
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 3);
}

// Goal: if nothing changes, nothing is sent. Method: application faults; then a real change shows
// that they were handled.
TEST_F(GpuMonitorTest, NoChangeSendsNothing) {
    start();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    for (int i = 0; i < 5; ++i)
        trigger_read();
    driver_.report({std::nullopt, 79});
    ASSERT_TRUE(until([&] { return !usable(0) && !usable(1); }));
    ASSERT_TRUE(until([&] { return kube_.node_patches() >= 2; }));
    EXPECT_EQ(kube_.node_patches(), 2);
    EXPECT_EQ(plugins_.sent(kGpuShare), 2);
}

// Goal: memory that a container uses above its lowered limit is not offered to other pods, until
// the container frees it. Kubelet's lists and the inventory for starting containers do not show it.
TEST_F(GpuMonitorTest, WhatIsHeldAboveALimitIsNotOffered) {
    GpuMonitor gpus(driver_, kube_, plugins_, options_, &shares_);
    ASSERT_TRUE(gpus.load());
    const auto over_limit = [&] {
        gpus.update();
        gpus.publish_now();
        EXPECT_EQ(published().gpus[1].capacity(), gibibytes(16));
        return published().gpus[1].over_limit;
    };
    gpus.publish();
    EXPECT_EQ(over_limit(), Bytes{});
    shares_.used.push_back({.gpu = GpuUuid("GPU-1"), .used = gibibytes(6), .limit = gibibytes(4)});
    EXPECT_EQ(over_limit(), gibibytes(2));
    EXPECT_EQ(gpus.inventory()->gpus[1].over_limit, Bytes{});
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 1);
    shares_.used.push_back({.gpu = GpuUuid("GPU-1"), .used = gibibytes(30)});
    EXPECT_EQ(over_limit(), gibibytes(16))
        << "false accounts of a tenant do not take more than the GPU's memory";
    shares_.used.pop_back();
    shares_.used[0].used = gibibytes(4);
    EXPECT_EQ(over_limit(), Bytes{});
}

// Goal: the Node shows on which GPUs the driver limits memory. A driver that does not answer for a
// moment changes nothing.
TEST_F(GpuMonitorTest, ShowsWhereTheDriverLimitsMemory) {
    SomeMemoryLimits limits;
    Result<>& second = limits.second;
    options_.memory_limits = &limits;
    GpuMonitor gpus(driver_, kube_, plugins_, options_);
    ASSERT_TRUE(gpus.load());
    gpus.publish();
    const auto shown = [&] {
        gpus.update();
        gpus.publish_now();
        EXPECT_TRUE(published().gpus[0].limits_memory);
        return published().gpus[1].limits_memory;
    };
    EXPECT_FALSE(shown());
    second = {};
    EXPECT_TRUE(shown());
    second = fail(Code::unavailable, "the driver is busy");
    EXPECT_TRUE(shown());
    second = fail(Code::unsupported, "the driver has no memory limits");
    EXPECT_FALSE(shown());
    options_.enforcement_fault = "the guard does not work here";
    GpuMonitor without(driver_, kube_, plugins_, options_);
    ASSERT_TRUE(without.load());
    EXPECT_FALSE(without.inventory()->gpus[0].limits_memory);
}

// Goal: a lost GPU goes out of use and comes back. A new GPU is added to the lists. One that is
// gone stays in them, out of use, because pods may have shares of it.
TEST_F(GpuMonitorTest, GpusComeAndGo) {
    start();
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[0].lost = "GPU is lost";
    driver_.set(readings);
    trigger_read();
    ASSERT_TRUE(until([&] { return !usable(0); }));
    driver_.set(FakeGpuInventory::gpus(3, gibibytes(16)));
    trigger_read();
    ASSERT_TRUE(until([&] { return monitor_->inventory()->gpus.size() == 3; }));
    EXPECT_TRUE(usable(0));
    driver_.set(FakeGpuInventory::gpus(1, gibibytes(16)));
    trigger_read();
    ASSERT_TRUE(until([&] {
        return std::ranges::count(plugins_.devices(kGpushareMemory), true,
                                  &PluginDevice::healthy) == 16;
    }));
    EXPECT_EQ(plugins_.devices(kGpushareMemory).size(), 48U);
}

// Goal: a GPU that is set up for another use is shown with the command that changes that. It is not
// offered, and it is no fault. It is back as soon as it is set up for sharing. A fault of such a
// GPU still counts as a fault.
TEST_F(GpuMonitorTest, AGpuThatCannotBeShared) {
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[1].setup.mig = true;
    driver_.set(readings);
    start();
    EXPECT_TRUE(usable(0));
    EXPECT_EQ(published().gpus[1].condition, GpuCondition::not_shareable);
    EXPECT_TRUE(published().gpus[1].reason.ends_with("nvidia-smi -i GPU-1 -mig 0"));
    EXPECT_EQ(std::ranges::count(plugins_.devices(kGpuShare), true, &PluginDevice::healthy), 64);

    driver_.report({GpuUuid("GPU-1"), 48});
    ASSERT_TRUE(
        until([&] { return monitor_->inventory()->gpus[1].condition == GpuCondition::unhealthy; }));
    readings[1].recovery = RecoveryAction::none;
    driver_.set(readings);
    trigger_read();
    ASSERT_TRUE(until(
        [&] { return monitor_->inventory()->gpus[1].condition == GpuCondition::not_shareable; }));
    readings[1].setup = {};
    driver_.set(readings);
    trigger_read();
    EXPECT_TRUE(until([&] { return usable(1); }));
}

// Goal: an excluded GPU is shown and not offered, also if it has a fault, which is then no fault of
// the node. The labels of the Node are passed on.
TEST_F(GpuMonitorTest, AnExcludedGpu) {
    const std::vector<std::string> entries = {"1"};
    options_.excluded = *ExcludedGpus::parse(entries);
    // The publisher's thread outlives this function.
    const auto looks = std::make_shared<std::atomic<int>>(0);
    options_.publishing.on_labels = [looks](const StringMap& labels) {
        EXPECT_EQ(labels.at("tessera.dev/agent"), "true");
        ++*looks;
        return true;
    };
    kube_.label_node(kNode, {{"tessera.dev/agent", "true"}});
    start();
    EXPECT_GT(looks->load(), 0);
    EXPECT_TRUE(usable(0));
    EXPECT_EQ(std::ranges::count(plugins_.devices(kGpuShare), true, &PluginDevice::healthy), 64);
    EXPECT_EQ(plugins_.devices(kGpuShare).size(), 128U);
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[1].lost = "fell off the bus";
    driver_.set(readings);
    trigger_read_and_wait();
    EXPECT_EQ(published().gpus[1].condition, GpuCondition::not_shareable);
    EXPECT_EQ(published().gpus[1].reason, kExcludedReason);
}

// Goal: a GPU that never reported its identity does not keep the node from its other GPUs, and is
// shown as faulty.
TEST_F(GpuMonitorTest, AGpuThatNeverSaidWhoItIs) {
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[0] = {.uuid = unidentified_gpu(0), .index = 0, .lost = "GPU is lost"};
    driver_.set(readings);
    start();
    EXPECT_EQ(published().gpus[0].condition, GpuCondition::unhealthy);
    EXPECT_EQ(published().gpus[0].reason, "the GPU does not answer: GPU is lost");
    EXPECT_EQ(published().gpus[0].memory, Bytes{});
    EXPECT_TRUE(published().gpus[1].usable());
    EXPECT_EQ(plugins_.devices(kGpushareMemory).size(), 16U);
}

// Goal: if the driver no longer lists a GPU, or no longer reports its size, the known values are
// kept: pods may have shares of it.
TEST_F(GpuMonitorTest, KeepsWhatItKnows) {
    start();
    auto readings = FakeGpuInventory::gpus(1, {});
    readings[0].setup.knows_memory = false;
    driver_.set(readings);
    trigger_read();
    ASSERT_TRUE(until([&] { return !usable(0); }));
    const auto gpus = monitor_->inventory()->gpus;
    ASSERT_EQ(gpus.size(), 2U);
    EXPECT_EQ(gpus[0].condition, GpuCondition::not_shareable);
    EXPECT_EQ(gpus[0].memory, gibibytes(16));
    EXPECT_EQ(gpus[1].condition, GpuCondition::unhealthy);
    EXPECT_EQ(gpus[1].reason, "the driver no longer lists it");
    EXPECT_EQ(gpus[1].memory, gibibytes(16));
    driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
    trigger_read();
    EXPECT_TRUE(until([&] { return usable(0) && usable(1); }));
}

// Goal: from the moment an agent stops, no pod is bound to its GPUs, until the next agent publishes
// them. Kubelet gets no new list, because the closed socket tells it.
TEST_F(GpuMonitorTest, LeavesNothingToBeBoundTo) {
    start();
    stop();
    for (const Gpu& gpu : published().gpus) {
        EXPECT_FALSE(gpu.usable());
        EXPECT_NE(gpu.reason.find("is stopping"), std::string::npos);
    }
    EXPECT_EQ(published().gpus.size(), 2U);
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 1);
    start_without_node();
    EXPECT_TRUE(
        until([&] { return published().gpus[0].usable() && published().gpus[1].usable(); }));
}

// Goal: an API server that never answers does not keep a fault from kubelet.
TEST_F(GpuMonitorTest, FaultsAreReadWhileTheServerIsStuck) {
    BlackHole hole;
    api_ = &hole;
    start_without_node();
    EXPECT_TRUE(until([&] { return hole.asked(); }));
    driver_.report({GpuUuid("GPU-1"), 79});
    EXPECT_TRUE(until([&] {
        return std::ranges::count(plugins_.devices(kGpushareMemory), false,
                                  &PluginDevice::healthy) == 16;
    }));
    hole.answer();
    stop();
}

// Goal: kubelet resets totals that it does not count itself when it registers the node again. The
// agent publishes them again, and not the lists.
TEST_F(GpuMonitorTest, PublishesAgainAfterANodeReset) {
    options_.publishing.check_period = std::chrono::milliseconds(1);
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    kube_.reset_node_resources(kNode);
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 1);
}

// Goal: after a restart of kubelet the agent does not wait for the next regular check.
TEST_F(GpuMonitorTest, PublishesAgainWhenKubeletRestarts) {
    options_.publishing.check_period = std::chrono::hours(1);
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    kube_.reset_node_resources(kNode);
    monitor_->check_soon();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
}

// Goal: a failed publication is tried again without a change.
TEST_F(GpuMonitorTest, PublishesAgainAfterAFailure) {
    options_.publishing.retry_period = std::chrono::milliseconds(1);
    kube_.set_down(true);
    start_without_node();
    trigger_read_and_wait();
    kube_.set_down(false);
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(published().gpus.size(), 2U);
}

// Goal: a start with an invalid state fails with the reason and publishes nothing.
TEST_F(GpuMonitorTest, LoadRefuses) {
    driver_.set(fail(Code::unavailable, "NVML: no driver"));
    EXPECT_EQ(load_only().error(), (Error{Code::unavailable, "NVML: no driver"}));

    auto twins = FakeGpuInventory::gpus(2, gibibytes(16));
    twins[1].uuid = twins[0].uuid;
    driver_.set(twins);
    EXPECT_EQ(load_only().error().code, Code::corrupt);
    EXPECT_NE(load_only().error().text.find("GPU-0"), std::string::npos);

    auto large = FakeGpuInventory::gpus(8, gibibytes(80));
    for (GpuReading& gpu : large)
        gpu.uuid = GpuUuid("GPU-8f6c2f0e-1111-2222-3333-01234567890" + std::to_string(gpu.index));
    driver_.set(large);
    EXPECT_TRUE(load_only());
    options_.unit = MemoryUnit::mib;
    EXPECT_EQ(load_only().error().code, Code::invalid_argument);
    EXPECT_NE(load_only().error().text.find("655360 devices"), std::string::npos);

    options_.unit = MemoryUnit::gib;
    const std::vector<std::string> entries = {"8"};
    options_.excluded = *ExcludedGpus::parse(entries);
    EXPECT_NE(load_only().error().text.find("there is no GPU 8 on this node"), std::string::npos);

    EXPECT_EQ(kube_.node_patches(), 0);
    EXPECT_EQ(plugins_.sent(kGpuShare), 0);
}

// Goal: a node without GPUs is published like any other.
TEST_F(GpuMonitorTest, NoGpus) {
    driver_.set(std::vector<GpuReading>{});
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(kube_.node_resources(kNode).at("aliyun.com/gpu-count"), "0");
    EXPECT_TRUE(plugins_.devices(kGpuShare).empty());
}

}  // namespace
}  // namespace tessera

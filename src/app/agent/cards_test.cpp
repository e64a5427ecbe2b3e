#include "app/agent/cards.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "app/agent/driver_wait.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_node.hpp"
#include "wire/node_gpus_json.hpp"

namespace tessera {
namespace {

const NodeName kNode("n1");
const std::string kSlots = "tessera.dev/gpu";
const std::string kAliyun = "aliyun.com/gpu-mem";

// An API server that takes every call and gives no answer until it is told to. Only what the agent
// calls for its node.
class BlackHole final : public KubeApi {
  public:
    void answer() {
        const std::scoped_lock lock(mutex_);
        answers_ = true;
        changed_.notify_all();
    }
    bool asked() {
        const std::scoped_lock lock(mutex_);
        return asked_;
    }

    void follow_nodes(const std::function<void(NodeChanges)>&, const Trouble&,
                      std::stop_token) override {}
    void follow_pods(const std::function<void(PodChanges)>&, const Trouble&,
                     std::stop_token) override {}
    Result<> bind(const PodUid&, const PodName&, const NodeName&, const StringMap&) override {
        return wait();
    }
    Result<PodFacts> get_pod(const PodName&) override { return fail(wait().error()); }
    Result<std::vector<NodeInventory>> list_nodes() override { return fail(wait().error()); }
    Result<std::vector<PodFacts>> list_pods(const NodeName&) override {
        return fail(wait().error());
    }
    Result<std::vector<NodePod>> list_node_pods(const NodeName&) override {
        return fail(wait().error());
    }
    Result<NodeShown> node_shows(const NodeName&, const StringMap&, const StringMap&) override {
        return fail(wait().error());
    }
    Result<> annotate_node(const NodeName&, const StringMap&) override { return wait(); }
    Result<> set_node_resources(const NodeName&, const StringMap&) override { return wait(); }

  private:
    Result<> wait() {
        std::unique_lock lock(mutex_);
        asked_ = true;
        changed_.wait(lock, [&] { return answers_; });
        return fail(Code::unavailable, "no answer");
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool answers_ = false;  // guarded by mutex_
    bool asked_ = false;    // guarded by mutex_
};

// A driver that returns from no call while it hangs.
class HangingInventory final : public GpuInventory {
  public:
    explicit HangingInventory(GpuInventory& driver) : driver_(driver) {}

    void hang() { set(true); }
    void go_on() { set(false); }
    bool is_waited_for() {
        const std::scoped_lock lock(mutex_);
        return waiting_ > 0;
    }

    Result<std::vector<GpuReading>> read() override {
        wait();
        return driver_.read();
    }
    Result<std::vector<GpuProcess>> processes() override { return driver_.processes(); }
    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override {
        wait();
        return driver_.wait_fault(timeout);
    }
    Result<> reopen() override { return driver_.reopen(); }
    void close() override { driver_.close(); }

  private:
    void set(bool hangs) {
        const std::scoped_lock lock(mutex_);
        hangs_ = hangs;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.wait(lock, [&] { return !hangs_; });
        --waiting_;
    }

    GpuInventory& driver_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool hangs_ = false;  // guarded by mutex_
    int waiting_ = 0;     // guarded by mutex_
};

class CardsTest : public ::testing::Test {
  protected:
    CardsTest() {
        driver_.set(FakeGpuInventory::cards(2, gibibytes(16)));
        options_.node = kNode;
        options_.publishing.identity = "nri";
    }
    ~CardsTest() override { stop(); }

    // As launch(), and the node object shows it.
    void start() {
        launch();
        ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    }
    // Loads and runs; returns once the first state is published.
    void launch() {
        cards_ = std::make_unique<Cards>(driver_, *api_, plugins_, options_, &shares_);
        const auto loaded = cards_->load();
        ASSERT_TRUE(loaded) << loaded.error().text;
        thread_ = std::jthread([this](const std::stop_token& stop) { cards_->run(stop); });
        ASSERT_TRUE(until([&] { return plugins_.sent(kAliyun) > 0; }));
    }
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }
    bool until(const std::function<bool()>& done) { return plugins_.wait_until(done); }
    // An application's fault changes no health; it only makes the agent look again.
    void look_again() { driver_.report({GpuUuid("GPU-0"), 31}); }
    // Returns when the driver has been asked.
    void look_and_wait() {
        const int before = driver_.reads();
        look_again();
        ASSERT_TRUE(until([&] { return driver_.reads() > before; }));
    }
    NodeGpus published() {
        const auto annotations = kube_.node_annotations(kNode);
        const auto at = annotations.find("tessera.dev/gpus");
        if (at == annotations.end()) return {};
        const auto read = read_node_gpus(at->second);
        EXPECT_TRUE(read);
        return *read;
    }
    bool healthy(std::size_t card) { return cards_->inventory()->gpus[card].usable(); }
    Result<> load() { return Cards(driver_, kube_, plugins_, options_).load(); }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    KubeApi* api_ = &kube_;
    FakeDevicePluginHost plugins_;
    FakeShareHolder shares_;
    CardsOptions options_;
    std::unique_ptr<Cards> cards_;
    std::jthread thread_;
};

// Goal: the first state goes out once: one list per resource, one annotation, the sums.
TEST_F(CardsTest, PublishesOnce) {
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(plugins_.sent(kSlots), 1);
    EXPECT_EQ(plugins_.sent(kAliyun), 1);
    EXPECT_EQ(kube_.node_patches(), 1);
    EXPECT_EQ(kube_.node_resources(kNode).at("aliyun.com/gpu-count"), "2");
    EXPECT_EQ(published().identity, "nri");
    EXPECT_EQ(published().gpus, cards_->inventory()->gpus);
    EXPECT_EQ(published().gpus.size(), 2U);
}

// Goal: one change of state is one list per resource and one patch, whatever the number of devices
// (D-22 sent one list per device). Method: a fault of one card; then the driver says it is good.
TEST_F(CardsTest, OneChangeIsOneListAndOnePatch) {
    start();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    driver_.report({GpuUuid("GPU-1"), 79});
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 2; }));
    EXPECT_TRUE(healthy(0));
    EXPECT_FALSE(healthy(1));
    EXPECT_EQ(published().gpus[1].reason, "Xid 79");
    EXPECT_EQ(plugins_.sent(kSlots), 2);
    EXPECT_EQ(plugins_.sent(kAliyun), 2);
    const auto devices = plugins_.devices(kAliyun);
    EXPECT_EQ(std::ranges::count(devices, false, &PluginDevice::healthy), 16);

    auto readings = FakeGpuInventory::cards(2, gibibytes(16));
    readings[1].recovery = RecoveryAction::none;
    driver_.set(readings);
    look_again();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 3; }));
    EXPECT_TRUE(healthy(1));
    EXPECT_EQ(plugins_.sent(kAliyun), 3);
}

// Goal: what changes nothing sends nothing. Method: application faults; then a real change shows
// that they were handled.
TEST_F(CardsTest, NoChangeSendsNothing) {
    start();
    ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    for (int i = 0; i < 5; ++i)
        look_again();
    driver_.report({std::nullopt, 79});
    ASSERT_TRUE(until([&] { return !healthy(0) && !healthy(1); }));
    ASSERT_TRUE(until([&] { return kube_.node_patches() >= 2; }));
    EXPECT_EQ(kube_.node_patches(), 2);
    EXPECT_EQ(plugins_.sent(kSlots), 2);
}

// Goal: what a container holds above a limit that was lowered is promised to nobody, until it lets
// go of it; kubelet, and containers that start, are told nothing of that.
TEST_F(CardsTest, WhatIsHeldAboveALimitIsNotOffered) {
    Cards cards(driver_, kube_, plugins_, options_, &shares_);
    ASSERT_TRUE(cards.load());
    const auto excess = [&] {
        cards.update();
        cards.publish_now();
        EXPECT_EQ(published().gpus[1].capacity(), gibibytes(16));
        return published().gpus[1].excess;
    };
    cards.publish();
    EXPECT_EQ(excess(), Bytes{});
    shares_.used.push_back({.card = GpuUuid("GPU-1"), .held = gibibytes(6), .limit = gibibytes(4)});
    EXPECT_EQ(excess(), gibibytes(2));
    EXPECT_EQ(cards.inventory()->gpus[1].excess, Bytes{});
    EXPECT_EQ(plugins_.sent(kAliyun), 1);
    shares_.used.push_back({.card = GpuUuid("GPU-1"), .held = gibibytes(30)});
    EXPECT_EQ(excess(), gibibytes(16)) << "tenants who lie do not take the node out";
    shares_.used.pop_back();
    shares_.used[0].held = gibibytes(4);
    EXPECT_EQ(excess(), Bytes{});
}

// Goal: a lost card is out and back; a card that is new or gone changes the lists.
TEST_F(CardsTest, CardsComeAndGo) {
    start();
    auto readings = FakeGpuInventory::cards(2, gibibytes(16));
    readings[0].lost = "GPU is lost";
    driver_.set(readings);
    look_again();
    ASSERT_TRUE(until([&] { return !healthy(0); }));
    driver_.set(FakeGpuInventory::cards(3, gibibytes(16)));
    look_again();
    ASSERT_TRUE(until([&] { return cards_->inventory()->gpus.size() == 3; }));
    EXPECT_TRUE(healthy(0));
    driver_.set(FakeGpuInventory::cards(1, gibibytes(16)));
    look_again();
    ASSERT_TRUE(until([&] { return plugins_.devices(kAliyun).size() == 16; }));
}

// Goal: a driver that misses a question or two takes nothing away.
TEST_F(CardsTest, DriverHiccup) {
    start();
    driver_.set(fail(Code::unavailable, "no driver"));
    look_and_wait();
    look_and_wait();
    driver_.set(FakeGpuInventory::cards(3, gibibytes(16)));
    look_and_wait();
    ASSERT_TRUE(until([&] { return cards_->inventory()->gpus.size() == 3; }));
    EXPECT_EQ(plugins_.sent(kAliyun), 2) << "the first list and the third card, nothing between";
}

// Goal: a driver that stays silent takes its cards out of use and says why; they are back when it
// answers, but for one that was out before, which keeps its own reason.
TEST_F(CardsTest, DriverAway) {
    start();
    driver_.report({GpuUuid("GPU-1"), 48});
    ASSERT_TRUE(until([&] { return !healthy(1); }));
    driver_.set(fail(Code::unavailable, "nvmlDeviceGetCount: Unknown Error"));
    for (int i = 0; i < 5; ++i)
        look_and_wait();
    ASSERT_TRUE(until([&] { return !healthy(0); }));
    EXPECT_EQ(cards_->inventory()->gpus[0].reason,
              "the driver does not answer: nvmlDeviceGetCount: Unknown Error");
    EXPECT_TRUE(cards_->inventory()->gpus[1].reason.starts_with("Xid 48"));
    ASSERT_TRUE(until([&] { return published().gpus == cards_->inventory()->gpus; }));
    EXPECT_EQ(std::ranges::count(plugins_.devices(kAliyun), true, &PluginDevice::healthy), 0);
    driver_.set(FakeGpuInventory::cards(2, gibibytes(16)));
    look_and_wait();
    // The cards are known a moment before their list is sent.
    ASSERT_TRUE(until([&] { return plugins_.sent(kAliyun) == 4; }));
    EXPECT_TRUE(healthy(0));
    EXPECT_FALSE(healthy(1));
}

// Goal: a card that is set up for another use is shown with the command that changes that, is
// offered to nobody, and is no fault; it is back as soon as it is set up for sharing. A fault of
// such a card is one all the same.
TEST_F(CardsTest, ACardThatCannotBeShared) {
    auto readings = FakeGpuInventory::cards(2, gibibytes(16));
    readings[1].setup.mig = true;
    driver_.set(readings);
    start();
    EXPECT_TRUE(healthy(0));
    EXPECT_EQ(published().gpus[1].condition, GpuCondition::not_shareable);
    EXPECT_TRUE(published().gpus[1].reason.ends_with("nvidia-smi -i GPU-1 -mig 0"));
    EXPECT_EQ(std::ranges::count(plugins_.devices(kSlots), true, &PluginDevice::healthy), 64);

    driver_.report({GpuUuid("GPU-1"), 48});
    ASSERT_TRUE(
        until([&] { return cards_->inventory()->gpus[1].condition == GpuCondition::unhealthy; }));
    readings[1].recovery = RecoveryAction::none;
    driver_.set(readings);
    look_again();
    ASSERT_TRUE(until(
        [&] { return cards_->inventory()->gpus[1].condition == GpuCondition::not_shareable; }));
    readings[1].setup = {};
    driver_.set(readings);
    look_again();
    EXPECT_TRUE(until([&] { return healthy(1); }));
}

// Goal: a card that never said who it is does not keep the node from its others, and is shown as
// faulty.
TEST_F(CardsTest, ACardThatNeverSaidWhoItIs) {
    auto readings = FakeGpuInventory::cards(2, gibibytes(16));
    readings[0] = {.uuid = unidentified_gpu(0), .index = 0, .lost = "GPU is lost"};
    driver_.set(readings);
    start();
    EXPECT_EQ(published().gpus[0].condition, GpuCondition::unhealthy);
    EXPECT_EQ(published().gpus[0].reason, "the card does not answer: GPU is lost");
    EXPECT_EQ(published().gpus[0].memory, Bytes{});
    EXPECT_TRUE(published().gpus[1].usable());
    EXPECT_EQ(plugins_.devices(kAliyun).size(), 16U);
}

// Goal: a driver that was loaded anew is taken up again without a new process; one that fails for
// good is given up, after its GPUs were taken out of use.
TEST_F(CardsTest, DriverThatWasLoadedAnew) {
    start();
    driver_.load_anew();
    for (int i = 0; i < 2; ++i)
        look_and_wait();
    EXPECT_EQ(driver_.reopens(), 0);
    look_and_wait();
    ASSERT_TRUE(until([&] { return driver_.reopens() == 1; }));
    EXPECT_TRUE(healthy(0));
    EXPECT_EQ(plugins_.sent(kAliyun), 1) << "nobody noticed";
    stop();

    std::atomic<bool> is_given_up = false;
    options_.give_up = [&] { is_given_up = true; };
    options_.failure_patience = std::chrono::milliseconds(1);
    launch();
    driver_.set(fail(Code::unavailable, "Insufficient Permissions"));
    for (int i = 0; i < 5; ++i)
        look_and_wait();
    EXPECT_TRUE(until([&] { return is_given_up.load(); }));
    EXPECT_GE(driver_.reopens(), 2);
    EXPECT_TRUE(until([&] { return !healthy(0); }));
}

// Goal: while a label of the Node asks for it the driver is closed and asked for nothing, the Node
// says so, and its GPUs are given to nobody; they are back when the label is gone.
TEST_F(CardsTest, LetsGoOfTheDriver) {
    options_.publishing.check_period = std::chrono::milliseconds(1);
    options_.probe_period = std::chrono::milliseconds(1);
    start();
    const auto driver_state = [&] { return kube_.node_annotations(kNode)["tessera.dev/driver"]; };
    EXPECT_EQ(driver_state(), "in-use");
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    ASSERT_TRUE(until([&] { return driver_state() == "released"; }));
    EXPECT_FALSE(driver_.is_open());
    const int reads = driver_.reads();
    EXPECT_EQ(published().gpus[0].condition, GpuCondition::not_shareable);
    EXPECT_NE(published().gpus[0].reason.find("tessera.dev/release-driver=true"),
              std::string::npos);
    EXPECT_EQ(std::ranges::count(plugins_.devices(kSlots), true, &PluginDevice::healthy), 0);
    // GPU Operator's label takes over where the administrator's ends.
    kube_.label_node(kNode, {{"nvidia.com/gpu-driver-upgrade-state", "drain-required"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(driver_.is_open());
    EXPECT_EQ(driver_.reads(), reads);
    EXPECT_EQ(driver_.reopens(), 0);
    kube_.label_node(kNode, {{"nvidia.com/gpu-driver-upgrade-state", "uncordon-required"}});
    ASSERT_TRUE(until([&] { return driver_state() == "in-use" && healthy(0); }));
    EXPECT_TRUE(driver_.is_open());
}

// Goal: an agent that starts while the driver is being replaced does not open it, and starts when
// that is over; an API server that says nothing keeps it from nothing.
TEST_F(CardsTest, StartsAfterTheDriverIsReplaced) {
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    std::atomic<bool> goes_on = false;
    std::jthread waiting([&](const std::stop_token& stop) {
        wait_for_driver(kube_, kNode, stop, std::chrono::milliseconds(1));
        goes_on = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(goes_on.load());
    EXPECT_EQ(kube_.node_annotations(kNode)["tessera.dev/driver"], "released");
    kube_.label_node(kNode, {});
    EXPECT_TRUE(until([&] { return goes_on.load(); }));
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    kube_.set_down(true);
    wait_for_driver(kube_, kNode, {}, std::chrono::milliseconds(1));
}

// Goal: a driver that returns from no call takes its GPUs out of use with the reason, though the
// thread that reads it hangs; they are back when it returns. Where it does not, the process is
// ended.
TEST_F(CardsTest, DriverThatHangs) {
    HangingInventory driver(driver_);
    options_.hang_bound = std::chrono::milliseconds(50);
    options_.hang_patience = std::chrono::milliseconds(51);
    std::atomic<bool> is_given_up = false;
    options_.give_up = [&] { is_given_up = true; };
    options_.probe_period = std::chrono::milliseconds(1);
    Cards cards(driver, kube_, plugins_, options_);
    ASSERT_TRUE(cards.load());
    thread_ = std::jthread([&](const std::stop_token& stop) { cards.run(stop); });
    const auto are_healthy = [&](bool healthy) {
        const auto devices = plugins_.devices(kAliyun);
        const auto gpus = published().gpus;
        return devices.size() == 32 && gpus.size() == 2 &&
               std::ranges::all_of(devices, [&](const auto& d) { return d.healthy == healthy; }) &&
               std::ranges::all_of(gpus, [&](const auto& gpu) { return gpu.usable() == healthy; });
    };
    EXPECT_TRUE(until([&] { return are_healthy(true); }));
    driver.hang();
    EXPECT_TRUE(until([&] { return are_healthy(false); }));
    EXPECT_TRUE(driver.is_waited_for());
    EXPECT_TRUE(published().gpus[1].reason.starts_with(
        "the driver does not answer: a call has not returned for "));
    EXPECT_TRUE(until([&] { return is_given_up.load(); }));
    driver.go_on();
    EXPECT_TRUE(until([&] { return are_healthy(true); }));
    stop();
}

// Goal: a driver that hangs at the first reading is no agent that starts for ever.
TEST_F(CardsTest, DriverThatHangsAtTheStart) {
    HangingInventory driver(driver_);
    driver.hang();
    options_.hang_bound = options_.hang_patience = std::chrono::milliseconds(1);
    options_.give_up = [&] { driver.go_on(); };
    EXPECT_TRUE(Cards(driver, kube_, plugins_, options_).load());
}

// Goal: from the moment an agent stops nothing is bound to its GPUs, until the next one publishes
// them; kubelet is left alone, for it knows by the closed socket.
TEST_F(CardsTest, LeavesNothingToBeBoundTo) {
    start();
    stop();
    for (const Gpu& gpu : published().gpus) {
        EXPECT_FALSE(gpu.usable());
        EXPECT_NE(gpu.reason.find("is stopping"), std::string::npos);
    }
    EXPECT_EQ(published().gpus.size(), 2U);
    EXPECT_EQ(plugins_.sent(kAliyun), 1);
    launch();
    EXPECT_TRUE(
        until([&] { return published().gpus[0].usable() && published().gpus[1].usable(); }));
}

// Goal: an API server that swallows every call keeps no fault from kubelet.
TEST_F(CardsTest, FaultsAreReadWhileTheServerIsStuck) {
    BlackHole hole;
    api_ = &hole;
    launch();
    EXPECT_TRUE(until([&] { return hole.asked(); }));
    driver_.report({GpuUuid("GPU-1"), 79});
    EXPECT_TRUE(until([&] {
        return std::ranges::count(plugins_.devices(kAliyun), false, &PluginDevice::healthy) == 16;
    }));
    hole.answer();
    stop();
}

// Goal: kubelet forgets sums that it does not count when it registers the node anew; they are
// published again, and the lists are not.
TEST_F(CardsTest, PublishesAgainAfterANodeReset) {
    options_.publishing.check_period = std::chrono::milliseconds(1);
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    kube_.reset_node_resources(kNode);
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(plugins_.sent(kAliyun), 1);
}

// Goal: after a restart of kubelet nobody waits for the next regular check.
TEST_F(CardsTest, PublishesAgainWhenKubeletRestarts) {
    options_.publishing.check_period = std::chrono::hours(1);
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    kube_.reset_node_resources(kNode);
    cards_->check_soon();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
}

// Goal: what could not be published is tried again without a change.
TEST_F(CardsTest, PublishesAgainAfterAFailure) {
    options_.publishing.retry_period = std::chrono::milliseconds(1);
    kube_.set_down(true);
    launch();
    look_and_wait();
    kube_.set_down(false);
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(published().gpus.size(), 2U);
}

// Goal: a start that cannot be right fails with the reason and publishes nothing.
TEST_F(CardsTest, LoadRefuses) {
    driver_.set(fail(Code::unavailable, "NVML: no driver"));
    EXPECT_EQ(load().error(), (Error{Code::unavailable, "NVML: no driver"}));

    auto twins = FakeGpuInventory::cards(2, gibibytes(16));
    twins[1].uuid = twins[0].uuid;
    driver_.set(twins);
    EXPECT_EQ(load().error().code, Code::corrupt);
    EXPECT_NE(load().error().text.find("GPU-0"), std::string::npos);

    auto large = FakeGpuInventory::cards(8, gibibytes(80));
    for (GpuReading& card : large)
        card.uuid = GpuUuid("GPU-8f6c2f0e-1111-2222-3333-01234567890" + std::to_string(card.index));
    driver_.set(large);
    EXPECT_TRUE(load());
    options_.unit = MemoryUnit::mib;
    EXPECT_EQ(load().error().code, Code::invalid_argument);
    EXPECT_NE(load().error().text.find("655360 devices"), std::string::npos);

    EXPECT_EQ(kube_.node_patches(), 0);
    EXPECT_EQ(plugins_.sent(kSlots), 0);
}

// Goal: a node without cards is a state like any other.
TEST_F(CardsTest, NoCards) {
    driver_.set(std::vector<GpuReading>{});
    start();
    ASSERT_TRUE(until([&] { return !kube_.node_resources(kNode).empty(); }));
    EXPECT_EQ(kube_.node_resources(kNode).at("aliyun.com/gpu-count"), "0");
    EXPECT_TRUE(plugins_.devices(kSlots).empty());
}

}  // namespace
}  // namespace tessera

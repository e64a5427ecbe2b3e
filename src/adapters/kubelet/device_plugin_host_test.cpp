#include "adapters/kubelet/device_plugin_host.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "kubelet/deviceplugin.grpc.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Kubelet's side of its folder: accepts registrations, and calls the plugins as kubelet does.
class FakeKubelet final : public v1beta1::Registration::Service {
  public:
    FakeKubelet() {
        fs::remove_all(folder);
        fs::create_directories(folder);
    }
    ~FakeKubelet() override {
        stop();
        fs::remove_all(folder);
    }
    void start() {
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix://" + socket(), grpc::InsecureServerCredentials());
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
        ASSERT_NE(server_, nullptr);
    }
    void stop() {
        hold(false);
        if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
        server_ = nullptr;
        fs::remove(socket());
    }
    // While true, registrations are not answered.
    void hold(bool on) {
        const MutexLock lock(mutex_);
        held_ = on;
        changed_.notify_all();
    }

    // While not empty, registrations are refused with this reason.
    void refuse(const std::string& reason) {
        const MutexLock lock(mutex_);
        refusal_ = reason;
    }

    // Resource -> number of registrations.
    std::map<std::string, int> registrations() {
        const MutexLock lock(mutex_);
        return registrations_;
    }
    std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin(const std::string& resource) {
        const MutexLock lock(mutex_);
        return v1beta1::DevicePlugin::NewStub(
            grpc::CreateChannel("unix://" + (folder / endpoints_.at(resource)).string(),
                                grpc::InsecureChannelCredentials()));
    }

    grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                          v1beta1::Empty*) override {
        EXPECT_EQ(request->version(), "v1beta1");
        EXPECT_TRUE(request->options().pre_start_required());
        EXPECT_TRUE(fs::is_socket(folder / request->endpoint())) << "listens before it registers";
        MutexLock lock(mutex_);
        ++registrations_[request->resource_name()];
        endpoints_[request->resource_name()] = request->endpoint();
        while (held_ && !context->IsCancelled())
            changed_.wait_for(lock, std::chrono::milliseconds(5));
        if (!refusal_.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, refusal_};
        return grpc::Status::OK;
    }

    const fs::path folder =
        fs::temp_directory_path() / ("tessera-plugins-" + std::to_string(getpid()));

  private:
    [[nodiscard]] std::string socket() const { return (folder / "kubelet.sock").string(); }

    Mutex mutex_;
    std::condition_variable_any changed_;
    bool held_ TESSERA_GUARDED_BY(mutex_) = false;
    std::string refusal_ TESSERA_GUARDED_BY(mutex_);
    std::map<std::string, int> registrations_ TESSERA_GUARDED_BY(mutex_);
    std::map<std::string, std::string> endpoints_ TESSERA_GUARDED_BY(mutex_);
    std::unique_ptr<grpc::Server> server_;
};

// Refuses devices by their ids.
class FakeHandler final : public DevicePluginHandler {
  public:
    Result<std::vector<std::string>> allocate(const std::string& resource,
                                              const std::vector<std::string>& ids) override {
        if (ids.at(0) == "bad") return fail(Code::invalid_argument, "no such device");
        return std::vector<std::string>{resource + "=" + ids.at(0)};
    }
    Result<> pre_start(const std::string&, const std::vector<std::string>& ids) override {
        if (ids.at(0) == "bad") return fail(Code::not_found, "Tessera: not placed");
        return {};
    }
};

// What kubelet receives for one resource while it listens.
class Listener {
  public:
    explicit Listener(std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin)
        : plugin_(std::move(plugin)), reader_(plugin_->ListAndWatch(&context_, {})) {}
    ~Listener() {
        context_.TryCancel();
        reader_->Finish();
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // The next list, as "id" or "id!" (unhealthy); "end" when the plugin ended the stream.
    std::vector<std::string> next() {
        v1beta1::ListAndWatchResponse list;
        if (!reader_->Read(&list)) return {"end"};
        std::vector<std::string> out;
        for (const auto& device : list.devices())
            out.push_back(device.id() + (device.health() == "Healthy" ? "" : "!"));
        return out;
    }

  private:
    std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> reader_;
};

const std::string kSlots = "tessera.dev/gpu-share";
const std::string kAliyun = "aliyun.com/gpu-mem";
using Lines = std::vector<std::string>;
using Counts = std::map<std::string, int>;

class PluginHostTest : public ::testing::Test {
  protected:
    ~PluginHostTest() override {
        thread_.request_stop();
        kubelet_.hold(false);
    }
    void run() {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            host_->run(handler_, [this] { ++registered_; }, stop);
        });
    }
    // Sets the lists of both resources; `healthy` is for the second slot.
    void set_lists(bool healthy = true) {
        host_->set_lists({{kSlots, {{"s0", true}, {"s1", healthy}}}, {kAliyun, {{"m0", true}}}});
    }
    static bool until(const std::function<bool()>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!done() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return done();
    }
    bool until_registered(int times) {
        return until([&] { return registered_ == times; });
    }

    FakeKubelet kubelet_;
    FakeHandler handler_;
    std::unique_ptr<DevicePluginHost> host_ =
        make_device_plugin_host({.folder = kubelet_.folder.string(),
                                 .sockets = {{kAliyun, "aliyungpushare.sock"}},
                                 .watch_period = std::chrono::milliseconds(5)});
    std::atomic<int> registered_ = 0;
    std::jthread thread_;
};

// Goal: each resource is registered once per kubelet, none before there is a list. It is registered
// again when kubelet created its socket again or emptied the folder. Method: one count over all of
// it.
TEST_F(PluginHostTest, RegistersOncePerKubelet) {
    run();
    kubelet_.start();
    set_lists();
    ASSERT_TRUE(until_registered(1));
    EXPECT_EQ(kubelet_.registrations(), (Counts{{kSlots, 1}, {kAliyun, 1}}));
    EXPECT_TRUE(fs::exists(kubelet_.folder / "aliyungpushare.sock"));
    kubelet_.stop();
    kubelet_.start();
    ASSERT_TRUE(until_registered(2));
    fs::remove(kubelet_.folder / "tessera.dev-gpu-share.sock");
    ASSERT_TRUE(until_registered(3));
    EXPECT_EQ(kubelet_.registrations(), (Counts{{kSlots, 3}, {kAliyun, 3}}));
    thread_.request_stop();
    thread_.join();
    EXPECT_FALSE(fs::exists(kubelet_.folder / "tessera.dev-gpu-share.sock"));
}

// Goal: a kubelet that refuses for hours fills no log. Each reason is reported once, and again if
// it returns after a success.
TEST_F(PluginHostTest, ARefusalIsSaidOnce) {
    const auto said = [before = event_count(Event::plugin_error)] {
        return event_count(Event::plugin_error) - before;
    };
    const auto tried_again = [&] {
        const int before = kubelet_.registrations()[kAliyun];
        return until([&] { return kubelet_.registrations()[kAliyun] >= before + 3; });
    };
    kubelet_.refuse("no such version");
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(tried_again());
    EXPECT_EQ(said(), 1U);
    kubelet_.refuse("out of order");
    ASSERT_TRUE(tried_again());
    EXPECT_EQ(said(), 2U);
    kubelet_.refuse("");
    ASSERT_TRUE(until_registered(1));
    kubelet_.refuse("out of order");
    fs::remove(kubelet_.folder / "tessera.dev-gpu-share.sock");
    ASSERT_TRUE(tried_again());
    EXPECT_EQ(said(), 3U);
}

// Goal: a listener gets the list and then each change once; an equal list is not sent.
TEST_F(PluginHostTest, StreamsChanges) {
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(until_registered(1));
    Listener slots(kubelet_.plugin(kSlots));
    Listener memory(kubelet_.plugin(kAliyun));
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1"}));
    EXPECT_EQ(memory.next(), (Lines{"m0"}));
    set_lists();
    set_lists(false);
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1!"})) << "nothing came for the equal list";
    set_lists(true);
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1"}));
    host_->set_lists({{kSlots, {}}, {kAliyun, {{"m0", false}}}});
    EXPECT_EQ(memory.next(), (Lines{"m0!"})) << "nor for changes of the other resource";
    EXPECT_EQ(slots.next(), Lines{});
}

// Goal: a list that kubelet has already makes it write its record; one list is enough.
TEST_F(PluginHostTest, RefreshesTheRecord) {
    host_->refresh_record();
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(until_registered(1));
    Listener memory(kubelet_.plugin(kAliyun));
    Listener slots(kubelet_.plugin(kSlots));
    EXPECT_EQ(memory.next(), (Lines{"m0"}));
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1"}));
    host_->refresh_record();
    EXPECT_EQ(memory.next(), (Lines{"m0"}));
    set_lists(false);
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1!"}));
}

// Goal: a new server starts with the current list, and the old server's listeners end.
TEST_F(PluginHostTest, ANewServerHasTheNewestList) {
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(until_registered(1));
    Listener old(kubelet_.plugin(kSlots));
    EXPECT_EQ(old.next(), (Lines{"s0", "s1"}));
    kubelet_.stop();
    EXPECT_EQ(registered_, 1);
    set_lists(false);
    EXPECT_EQ(old.next(), (Lines{"s0", "s1!"}));
    kubelet_.start();
    ASSERT_TRUE(until_registered(2));
    EXPECT_EQ(old.next(), Lines{"end"});
    Listener fresh(kubelet_.plugin(kSlots));
    EXPECT_EQ(fresh.next(), (Lines{"s0", "s1!"}));
}

// Goal: an agent that reports a fault does not wait for a slow kubelet. Method: a registration
// without an answer is given up after seconds, and repeated; set_lists returns before that.
TEST_F(PluginHostTest, ListsAreSetWhileKubeletIsSlow) {
    kubelet_.hold(true);
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(until([&] { return !kubelet_.registrations().empty(); }));
    set_lists(false);
    kubelet_.hold(false);
    ASSERT_TRUE(until_registered(1));
    EXPECT_EQ(kubelet_.registrations(), (Counts{{kSlots, 1}, {kAliyun, 1}}));
    Listener slots(kubelet_.plugin(kSlots));
    EXPECT_EQ(slots.next(), (Lines{"s0", "s1!"}));
}

// Goal: kubelet gets the handler's answers: device names, and errors with their text.
TEST_F(PluginHostTest, AnswersKubelet) {
    kubelet_.start();
    set_lists();
    run();
    ASSERT_TRUE(until_registered(1));
    const auto plugin = kubelet_.plugin(kSlots);
    const auto allocate = [&](const std::string& id, v1beta1::AllocateResponse& out) {
        v1beta1::AllocateRequest request;
        request.add_container_requests()->add_devices_ids(id);
        grpc::ClientContext context;
        return plugin->Allocate(&context, request, &out);
    };
    v1beta1::AllocateResponse devices;
    ASSERT_TRUE(allocate("s0", devices).ok());
    ASSERT_EQ(devices.container_responses_size(), 1);
    EXPECT_EQ(devices.container_responses(0).cdi_devices(0).name(), "tessera.dev/gpu-share=s0");
    EXPECT_EQ(allocate("bad", devices).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

    v1beta1::PreStartContainerRequest start;
    start.add_devices_ids("bad");
    grpc::ClientContext context;
    v1beta1::PreStartContainerResponse started;
    const grpc::Status refused = plugin->PreStartContainer(&context, start, &started);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(refused.error_message(), "Tessera: not placed");
}

}  // namespace
}  // namespace tessera

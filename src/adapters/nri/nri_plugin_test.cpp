#include "adapters/nri/nri_plugin.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "adapters/nri/ttrpc.hpp"
#include "base/mutex.hpp"
#include "nri/nri.pb.h"
#include "nri/ttrpc.pb.h"

namespace tessera {
namespace {

namespace nri = ::nri::pkg::api::v1alpha1;

// The runtime's side of the socket, as a plugin sees it.
class FakeRuntime {
  public:
    FakeRuntime() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::filesystem::remove(path);
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
        EXPECT_EQ(::listen(listener_, 4), 0);
    }
    ~FakeRuntime() {
        hang_up();
        ::close(listener_);
        std::filesystem::remove(path);
    }
    void accept() {
        fd_ = ::accept(listener_, nullptr, nullptr);
        EXPECT_GE(fd_, 0);
        decoder_ = {};
        waiting_.clear();
    }
    void hang_up() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    // The next message that the plugin sends.
    TtrpcMessage next() {
        std::array<char, 4096> buffer{};
        while (waiting_.empty()) {
            const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
            if (got <= 0) {
                ADD_FAILURE() << "the plugin hung up";
                return {};
            }
            auto messages = decoder_.append({buffer.data(), static_cast<std::size_t>(got)});
            EXPECT_TRUE(messages);
            waiting_.insert(waiting_.end(), messages->begin(), messages->end());
        }
        TtrpcMessage out = waiting_.front();
        waiting_.erase(waiting_.begin());
        return out;
    }
    void send(const TtrpcMessage& message) const {
        const std::string bytes = encode_ttrpc(message);
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    // Calls a method of the plugin; returns its response.
    ttrpc::Response call(const std::string& method, const google::protobuf::Message& body) {
        ttrpc::Request request;
        request.set_service("nri.pkg.api.v1alpha1.Plugin");
        request.set_method(method);
        request.set_payload(body.SerializeAsString());
        send({kPluginConnection, stream_, kTtrpcRequest, request.SerializeAsString()});
        const TtrpcMessage answer = next();
        EXPECT_EQ(answer.connection, kPluginConnection);
        EXPECT_EQ(answer.stream, stream_);
        EXPECT_EQ(answer.type, kTtrpcResponse);
        stream_ += 2;
        ttrpc::Response response;
        EXPECT_TRUE(response.ParseFromString(answer.payload));
        return response;
    }

    const std::string path =
        std::filesystem::temp_directory_path() / ("tessera-nri-" + std::to_string(getpid()));

  private:
    int listener_ = -1;
    int fd_ = -1;
    std::uint32_t stream_ = 1;
    TtrpcDecoder decoder_;
    std::vector<TtrpcMessage> waiting_;
};

class RecordingHandler final : public ContainerHandler {
  public:
    Result<ContainerEdits> on_create_container(const RuntimeContainer& container) override {
        const MutexLock lock(mutex_);
        completed.push_back(container);
        if (container.name == "refused") return fail(Code::not_found, "Tessera: no share");
        return ContainerEdits{
            {{"A", "1"}}, {"nvidia.com/gpu=0"}, {{"/from", "/to"}, {"/a", "/b", false}}};
    }
    Result<> verify(const RuntimeContainer& container) override {
        const MutexLock lock(mutex_);
        verified.push_back(container);
        if (container.name == "covered") return fail(Code::conflict, "Tessera: covered");
        return {};
    }
    void on_runtime(const RuntimeIdentity& of) override {
        const MutexLock lock(mutex_);
        runtime = of;
    }
    void synchronize(const std::vector<RuntimeContainer>& containers) override {
        const MutexLock lock(mutex_);
        present = containers;
    }
    void on_link(bool connected, const std::string& detail) override {
        const MutexLock lock(mutex_);
        link.emplace_back(connected, detail);
        linked = connected;
    }

    Mutex mutex_;
    std::vector<RuntimeContainer> completed;
    std::vector<RuntimeContainer> verified;
    RuntimeIdentity runtime;
    std::vector<RuntimeContainer> present;
    std::vector<std::pair<bool, std::string>> link;
    std::atomic<bool> linked = false;
};

class NriTest : public ::testing::Test {
  protected:
    void start() {
        thread_ = std::jthread([this](const std::stop_token& stop) {
            NriPlugin({.socket = runtime_.path, .retry = std::chrono::milliseconds(5)})
                .run(handler_, stop);
        });
    }
    // Registration as containerd does it, until containers may come.
    void introduce() {
        runtime_.accept();
        const TtrpcMessage hello = runtime_.next();
        EXPECT_EQ(hello.connection, kRuntimeConnection);
        ttrpc::Request request;
        EXPECT_TRUE(request.ParseFromString(hello.payload));
        EXPECT_EQ(request.method(), "RegisterPlugin");
        nri::RegisterPluginRequest registration;
        EXPECT_TRUE(registration.ParseFromString(request.payload()));
        EXPECT_EQ(registration.plugin_name(), "tessera");
        runtime_.send({kRuntimeConnection, hello.stream, kTtrpcResponse, ""});
        nri::ConfigureRequest configure;
        configure.set_runtime_name("containerd");
        configure.set_runtime_version("2.3");
        nri::ConfigureResponse events;
        EXPECT_TRUE(events.ParseFromString(runtime_.call("Configure", configure).payload()));
        EXPECT_EQ(events.events(), 1 << 3 | 1 << 5) << "CreateContainer and StartContainer";
        EXPECT_EQ(handler_.runtime, (RuntimeIdentity{"containerd", "2.3"}));
    }
    static nri::CreateContainerRequest create(const std::string& name) {
        nri::CreateContainerRequest request;
        request.mutable_pod()->set_id("s-1");
        request.mutable_pod()->set_uid("uid-p");
        request.mutable_pod()->set_name("p");
        request.mutable_pod()->set_namespace_("team-a");
        (*request.mutable_pod()->mutable_annotations())["k"] = "v";
        request.mutable_container()->set_id("c-1");
        request.mutable_container()->set_name(name);
        request.mutable_container()->add_env("PATH=/bin");
        return request;
    }

    FakeRuntime runtime_;
    RecordingHandler handler_;
    std::jthread thread_;
};

// Goal: a container gets the handler's edits, by the pod's own uid and annotations.
TEST_F(NriTest, CompletesContainers) {
    start();
    introduce();
    runtime_.call("Synchronize", nri::SynchronizeRequest());
    EXPECT_TRUE(handler_.linked);
    EXPECT_EQ(handler_.link.front().second, "containerd 2.3");
    nri::CreateContainerResponse edits;
    ASSERT_TRUE(edits.ParseFromString(runtime_.call("CreateContainer", create("main")).payload()));
    ASSERT_EQ(edits.adjust().env_size(), 1);
    EXPECT_EQ(edits.adjust().env(0).key(), "A");
    EXPECT_EQ(edits.adjust().env(0).value(), "1");
    ASSERT_EQ(edits.adjust().cdi_devices_size(), 1);
    EXPECT_EQ(edits.adjust().cdi_devices(0).name(), "nvidia.com/gpu=0");
    ASSERT_EQ(edits.adjust().mounts_size(), 2);
    EXPECT_EQ(edits.adjust().mounts(0).type(), "bind");
    EXPECT_EQ(edits.adjust().mounts(0).source(), "/from");
    EXPECT_EQ(edits.adjust().mounts(0).destination(), "/to");
    EXPECT_EQ(edits.adjust().mounts(0).options(1), "ro");
    EXPECT_EQ(edits.adjust().mounts(1).options(1), "rw");
    const RuntimeContainer seen = handler_.completed.at(0);
    EXPECT_EQ(seen.pod_uid, PodUid("uid-p"));
    EXPECT_EQ(seen.pod, (PodName{"team-a", "p"}));
    EXPECT_EQ(seen.pod_annotations.at("k"), "v");
    EXPECT_EQ(seen.env, std::vector<std::string>{"PATH=/bin"});

    const ttrpc::Response refused = runtime_.call("CreateContainer", create("refused"));
    EXPECT_NE(refused.status().code(), 0);
    EXPECT_EQ(refused.status().message(), "Tessera: no share");
    EXPECT_EQ(runtime_.call("StopContainer", create("x")).status().code(), 12);
}

// Goal: the handler receives what it needs to decide about a container: runtime handler, mounts,
// devices, and whether it is privileged.
TEST_F(NriTest, TellsWhatAContainerHas) {
    start();
    introduce();
    runtime_.call("Synchronize", nri::SynchronizeRequest());
    nri::CreateContainerRequest request = create("main");
    request.mutable_pod()->set_runtime_handler("nvidia");
    nri::Mount* mount = request.mutable_container()->add_mounts();
    mount->set_destination("/etc/ld.so.preload/");
    mount->set_source("/pods/volume");
    mount->add_options("rbind");
    mount->add_options("ro");
    request.mutable_container()->add_mounts()->set_destination("/data");
    nri::Mount* recursive = request.mutable_container()->add_mounts();
    recursive->set_destination("/etc");
    recursive->add_options("rro");
    nri::LinuxContainer* linux = request.mutable_container()->mutable_linux();
    linux->add_devices()->set_path("/dev/nvidia0");
    linux->set_cgroups_path("kubepods-pod1.slice:cri-containerd:id");
    const auto rule = [&] { return linux->mutable_resources()->add_devices(); };
    rule()->set_access("rwm");
    runtime_.call("CreateContainer", request);
    const auto one = rule();
    one->set_allow(true);
    one->set_type("c");
    one->mutable_major()->set_value(195);
    runtime_.call("CreateContainer", request);
    rule()->set_allow(true);
    request.mutable_container()->mutable_user()->set_uid(0);
    runtime_.call("CreateContainer", request);
    ASSERT_EQ(handler_.completed.size(), 3U);
    const RuntimeContainer& seen = handler_.completed[0];
    EXPECT_EQ(seen.setup.runtime_handler, "nvidia");
    EXPECT_EQ(seen.setup.mounts,
              (std::vector<ContainerMount>{{"/etc/ld.so.preload/", "/pods/volume", true},
                                           {"/data", "", false},
                                           {"/etc", "", true}}));
    EXPECT_EQ(seen.setup.devices, std::vector<std::string>{"/dev/nvidia0"});
    EXPECT_EQ(seen.cgroup_path, "kubepods-pod1.slice:cri-containerd:id");
    EXPECT_EQ(seen.user_id, std::nullopt) << "the runtime does not say";
    EXPECT_EQ(handler_.completed[2].user_id, 0U);
    EXPECT_FALSE(seen.setup.is_privileged);
    EXPECT_FALSE(handler_.completed[1].setup.is_privileged) << "a rule for one device";
    EXPECT_TRUE(handler_.completed[2].setup.is_privileged);
}

// Goal: a container is verified when it starts, by either call of NRI; other events are accepted.
// Only answers are sent, even after a refusal: a request of a plugin can block containerd for good.
TEST_F(NriTest, VerifiesContainersAsTheyStart) {
    start();
    introduce();
    runtime_.call("Synchronize", nri::SynchronizeRequest());
    nri::StartContainerRequest request;
    *request.mutable_pod() = create("main").pod();
    *request.mutable_container() = create("main").container();
    request.mutable_container()->set_pid(42);
    EXPECT_EQ(runtime_.call("StartContainer", request).status().code(), 0);
    nri::StateChangeEvent event;
    *event.mutable_pod() = request.pod();
    *event.mutable_container() = request.container();
    event.mutable_container()->set_name("covered");
    event.set_event(5);
    EXPECT_EQ(runtime_.call("StateChange", event).status().code(), 0);
    event.set_event(6);
    const ttrpc::Response refused = runtime_.call("StateChange", event);
    EXPECT_EQ(refused.status().message(), "Tessera: covered");
    request.mutable_container()->set_name("covered");
    request.mutable_container()->set_id("c-2");
    EXPECT_NE(runtime_.call("StartContainer", request).status().code(), 0);
    EXPECT_EQ(runtime_.call("StateChange", event).status().code(), 2);
    ASSERT_EQ(handler_.verified.size(), 4U);
    EXPECT_EQ(handler_.verified[0].pid, 42);
    EXPECT_EQ(handler_.verified[0].pod_uid, PodUid("uid-p"));
}

// Goal: the list of existing containers comes in parts.
TEST_F(NriTest, Synchronizes) {
    start();
    introduce();
    nri::SynchronizeRequest first;
    *first.add_pods() = create("x").pod();
    first.set_more(true);
    nri::SynchronizeResponse answer;
    ASSERT_TRUE(answer.ParseFromString(runtime_.call("Synchronize", first).payload()));
    EXPECT_TRUE(answer.more());
    EXPECT_FALSE(handler_.linked);
    nri::SynchronizeRequest second;
    auto* container = second.add_containers();
    container->set_id("c-1");
    container->set_pod_sandbox_id("s-1");
    container->set_name("main");
    container->set_state(nri::CONTAINER_RUNNING);
    second.add_containers()->set_pod_sandbox_id("unknown");
    runtime_.call("Synchronize", second);
    ASSERT_EQ(handler_.present.size(), 1U);
    EXPECT_TRUE(handler_.present[0].running);
    EXPECT_EQ(handler_.present[0].pod_uid, PodUid("uid-p"));
}

// Goal: after the runtime stopped, or sent invalid ttrpc, the link is reported as down and is
// established again.
TEST_F(NriTest, ConnectsAgain) {
    start();
    introduce();
    runtime_.call("Synchronize", nri::SynchronizeRequest());
    EXPECT_TRUE(handler_.linked);
    runtime_.hang_up();
    introduce();
    EXPECT_FALSE(handler_.linked);
    runtime_.call("Synchronize", nri::SynchronizeRequest());
    EXPECT_TRUE(handler_.linked);
    runtime_.send({kPluginConnection, 99, kTtrpcRequest, "\xff\xff rubbish"});
    runtime_.accept();
    EXPECT_FALSE(handler_.linked);
}

}  // namespace
}  // namespace tessera

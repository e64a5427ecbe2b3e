#include "adapters/kubelet/device_plugin_host.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

#include "adapters/os/pause.hpp"
#include "base/log.hpp"
#include "kubelet/deviceplugin.grpc.pb.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kWatchPeriod{1000};
constexpr std::chrono::seconds kRegisterDeadline{5};
// How often a waiting ListAndWatch looks whether kubelet is still there.
constexpr std::chrono::seconds kListenerCheck{5};

grpc::Status status_of(const Error& error) {
    const bool bad = error.code == Code::invalid_argument;
    return {bad ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::UNAVAILABLE, error.text};
}

// The list of one resource, shared by the agent and the listeners. Any thread.
class DeviceList {
  public:
    // False when the list is the same as before.
    bool set(std::vector<PluginDevice> devices) {
        {
            const std::scoped_lock lock(mutex_);
            if (version_ > 0 && devices == devices_) return false;
            devices_ = std::move(devices);
            ++version_;
        }
        changed_.notify_all();
        return true;
    }

    void close() {
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    // Waits until the list is newer than `version`; false when `period` passed or it was closed.
    bool wait(int& version, std::chrono::seconds period, v1beta1::ListAndWatchResponse& out) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, period, [&] { return closed_ || version_ > version; });
        if (closed_ || version_ <= version) return false;
        version = version_;
        out.Clear();
        for (const PluginDevice& device : devices_) {
            v1beta1::Device* entry = out.add_devices();
            entry->set_id(device.id);
            entry->set_health(device.healthy ? "Healthy" : "Unhealthy");
        }
        return true;
    }

    bool closed() {
        const std::scoped_lock lock(mutex_);
        return closed_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<PluginDevice> devices_;  // guarded by mutex_
    int version_ = 0;                    // guarded by mutex_
    bool closed_ = false;                // guarded by mutex_
};

// What kubelet calls, for one resource.
class Service final : public v1beta1::DevicePlugin::Service {
  public:
    Service(std::string resource, DeviceList& list, DevicePluginHandler& handler)
        : resource_(std::move(resource)), list_(list), handler_(handler) {}

    grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                        v1beta1::DevicePluginOptions* out) override {
        out->set_pre_start_required(true);
        return grpc::Status::OK;
    }

    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
        int version = 0;
        v1beta1::ListAndWatchResponse message;
        while (!context->IsCancelled() && !list_.closed()) {
            if (!list_.wait(version, kListenerCheck, message)) continue;
            if (!writer->Write(message)) break;
        }
        return grpc::Status::OK;
    }

    grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                          v1beta1::AllocateResponse* out) override {
        for (const auto& container : request->container_requests()) {
            const auto devices = handler_.allocate(
                resource_, {container.devices_ids().begin(), container.devices_ids().end()});
            if (!devices) return status_of(devices.error());
            auto* response = out->add_container_responses();
            for (const std::string& name : *devices)
                response->add_cdi_devices()->set_name(name);
        }
        return grpc::Status::OK;
    }

    grpc::Status PreStartContainer(grpc::ServerContext*,
                                   const v1beta1::PreStartContainerRequest* request,
                                   v1beta1::PreStartContainerResponse*) override {
        const auto done = handler_.pre_start(
            resource_, {request->devices_ids().begin(), request->devices_ids().end()});
        return done ? grpc::Status::OK : status_of(done.error());
    }

  private:
    const std::string resource_;
    DeviceList& list_;
    DevicePluginHandler& handler_;
};

// tessera.dev/gpu → tessera.dev-gpu.sock; aliyun.com/gpu-mem keeps gpushare's name, so that an old
// plugin's socket does not stay behind beside ours.
std::string socket_name(const std::string& resource) {
    if (resource == "aliyun.com/gpu-mem") return "aliyungpushare.sock";
    std::string name = resource;
    std::ranges::replace(name, '/', '-');
    return name + ".sock";
}

// Identity of a socket file: another inode or time means that someone made it anew.
using FileId = std::tuple<ino_t, time_t, long>;

FileId file_id(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

// One resource's server while it runs.
class Server {
  public:
    Server(const std::string& folder, std::string resource, DevicePluginHandler& handler,
           DeviceList& list)
        : resource_(std::move(resource)),
          path_(folder + "/" + socket_name(resource_)),
          list_(list),
          service_(resource_, list, handler) {}

    ~Server() {
        list_.close();
        if (server_ != nullptr) {
            server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
        }
        ::unlink(path_.c_str());
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    Result<> start(const std::string& kubelet_socket) {
        ::unlink(path_.c_str());
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix://" + path_, grpc::InsecureServerCredentials());
        builder.RegisterService(&service_);
        builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
        builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
        builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
        server_ = builder.BuildAndStart();
        if (server_ == nullptr) return fail(Code::unavailable, "cannot listen on " + path_);
        socket_ = file_id(path_);
        return register_at(kubelet_socket);
    }

    // False when kubelet wiped its folder.
    [[nodiscard]] bool alive() const { return file_id(path_) == socket_; }

  private:
    Result<> register_at(const std::string& kubelet_socket) const {
        const auto channel =
            grpc::CreateChannel("unix://" + kubelet_socket, grpc::InsecureChannelCredentials());
        const auto stub = v1beta1::Registration::NewStub(channel);
        v1beta1::RegisterRequest request;
        request.set_version("v1beta1");
        request.set_endpoint(std::filesystem::path(path_).filename().string());
        request.set_resource_name(resource_);
        request.mutable_options()->set_pre_start_required(true);
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kRegisterDeadline);
        v1beta1::Empty answer;
        const grpc::Status status = stub->Register(&context, request, &answer);
        if (!status.ok()) {
            return fail(Code::unavailable,
                        fmt::format("kubelet refuses {}: {}", resource_, status.error_message()));
        }
        log_event(Event::plugin_registered, {{"resource", resource_}});
        return {};
    }

    const std::string resource_;
    const std::string path_;
    DeviceList& list_;
    Service service_;
    std::unique_ptr<grpc::Server> server_;
    FileId socket_;
};

class Host final : public DevicePluginHost {
  public:
    explicit Host(DevicePluginOptions options) : options_(std::move(options)) {}

    void set_lists(DeviceLists lists) override {
        const std::scoped_lock lock(mutex_);
        lists_ = std::move(lists);
        for (const auto& [resource, running] : running_)
            running->list.set(lists_[resource]);
    }

    void run(DevicePluginHandler& handler, const std::function<void()>& registered,
             std::stop_token stop) override {
        const std::string kubelet = options_.folder + "/kubelet.sock";
        FileId registered_with;
        while (!stop.stop_requested()) {
            const FileId now = file_id(kubelet);
            if (now != FileId{} && has_lists() && (now != registered_with || !all_alive())) {
                const auto done = restart(handler, kubelet);
                if (done) {
                    registered_with = now;
                    registered();
                } else {
                    log_event(Event::plugin_trouble, {{"reason", done.error().text}});
                }
            }
            pause_for(kWatchPeriod, stop);
        }
        const std::scoped_lock lock(mutex_);
        running_.clear();
    }

  private:
    struct Running {
        DeviceList list;
        std::unique_ptr<Server> server;  // after list: uses it
    };

    bool has_lists() {
        const std::scoped_lock lock(mutex_);
        return !lists_.empty();
    }

    bool all_alive() {
        const std::scoped_lock lock(mutex_);
        return running_.size() == lists_.size() && std::ranges::all_of(running_, [](const auto& r) {
                   return r.second->server->alive();
               });
    }

    Result<> restart(DevicePluginHandler& handler, const std::string& kubelet) {
        const std::scoped_lock lock(mutex_);
        running_.clear();
        for (const auto& [resource, devices] : lists_) {
            auto running = std::make_unique<Running>();
            running->list.set(devices);
            running->server =
                std::make_unique<Server>(options_.folder, resource, handler, running->list);
            TRY_VOID(running->server->start(kubelet));
            running_.emplace(resource, std::move(running));
        }
        return {};
    }

    const DevicePluginOptions options_;
    std::mutex mutex_;
    DeviceLists lists_;                                        // guarded by mutex_
    std::map<std::string, std::unique_ptr<Running>> running_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<DevicePluginHost> make_device_plugin_host(DevicePluginOptions options) {
    return std::make_unique<Host>(std::move(options));
}

}  // namespace tessera

#include "adapters/kubelet/device_plugin_host.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "adapters/os/pause.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "kubelet/deviceplugin.grpc.pb.h"

namespace tessera {
namespace {

constexpr std::chrono::seconds kRegisterDeadline{5};
// How often a waiting ListAndWatch checks whether kubelet is still connected.
constexpr std::chrono::seconds kListenerCheck{5};

grpc::Status status_of(const Error& error) {
    const bool bad = error.code == Code::invalid_argument;
    return {bad ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::UNAVAILABLE, error.text};
}

// The list of one resource, shared by the agent and the listeners. It outlives the servers that
// show it. Any thread may call.
class DeviceList {
  public:
    // A list that equals the last one wakes no listener.
    void set(std::vector<PluginDevice> devices) {
        {
            const MutexLock lock(mutex_);
            if (version_ > 0 && devices == devices_) return;
            devices_ = std::move(devices);
            ++version_;
        }
        changed_.notify_all();
    }

    // Sends the list again as if it were new.
    void send_again() {
        {
            const MutexLock lock(mutex_);
            ++version_;
        }
        changed_.notify_all();
    }

    // Wakes the listeners that wait with this flag.
    void close(bool& closed) {
        {
            const MutexLock lock(mutex_);
            closed = true;
        }
        changed_.notify_all();
    }

    enum class Wait { news, none, closed };
    // Waits until the list is newer than `version`, `closed` is set, or `period` has passed.
    Wait wait(int& version, const bool& closed, std::chrono::seconds period,
              v1beta1::ListAndWatchResponse& out) {
        MutexLock lock(mutex_);
        changed_.wait_for(lock, period,
                          [&]() TESSERA_REQUIRES(mutex_) { return closed || version_ > version; });
        if (closed) return Wait::closed;
        if (version_ <= version) return Wait::none;
        version = version_;
        out.Clear();
        for (const PluginDevice& device : devices_) {
            v1beta1::Device* entry = out.add_devices();
            entry->set_id(device.id);
            entry->set_health(device.healthy ? "Healthy" : "Unhealthy");
        }
        return Wait::news;
    }

  private:
    Mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<PluginDevice> devices_ TESSERA_GUARDED_BY(mutex_);
    int version_ TESSERA_GUARDED_BY(mutex_) = 0;
};

// The service for one resource that kubelet calls.
class Service final : public v1beta1::DevicePlugin::Service {
  public:
    Service(std::string resource, DeviceList& list, DevicePluginHandler& handler)
        : resource_(std::move(resource)), list_(list), handler_(handler) {}

    // Ends the listeners, which would prevent the server's shutdown.
    void close() { list_.close(closed_); }

    grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                        v1beta1::DevicePluginOptions* out) override {
        out->set_pre_start_required(true);
        return grpc::Status::OK;
    }

    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
        int version = 0;
        v1beta1::ListAndWatchResponse message;
        while (!context->IsCancelled()) {
            const auto news = list_.wait(version, closed_, kListenerCheck, message);
            if (news == DeviceList::Wait::closed) break;
            if (news == DeviceList::Wait::news && !writer->Write(message)) break;
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
    bool closed_ = false;  // used by the list only, with its mutex locked
};

// tessera.dev/gpu → tessera.dev-gpu.sock.
std::string socket_name(const DevicePluginOptions& options, const std::string& resource) {
    const auto given = options.sockets.find(resource);
    if (given != options.sockets.end()) return given->second;
    std::string name = resource;
    std::ranges::replace(name, '/', '-');
    return name + ".sock";
}

// Identity of a socket file: another inode or time means that it was created again.
using FileId = std::tuple<ino_t, time_t, long>;

FileId file_id(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

// The running server of one resource.
class Server {
  public:
    Server(const DevicePluginOptions& options, std::string resource, DevicePluginHandler& handler,
           DeviceList& list)
        : resource_(std::move(resource)),
          path_(options.folder + "/" + socket_name(options, resource_)),
          service_(resource_, list, handler) {}

    ~Server() {
        service_.close();
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

    // False if kubelet emptied its folder.
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
    Service service_;
    std::unique_ptr<grpc::Server> server_;
    FileId socket_;
};

class Host final : public DevicePluginHost {
  public:
    explicit Host(DevicePluginOptions options) : options_(std::move(options)) {}

    void set_lists(DeviceLists lists) override {
        const MutexLock lock(mutex_);
        for (auto& [resource, devices] : lists)
            lists_[resource].set(std::move(devices));
    }

    void refresh_record() override {
        const MutexLock lock(mutex_);
        if (!lists_.empty()) lists_.begin()->second.send_again();
    }

    void run(DevicePluginHandler& handler, const std::function<void()>& registered,
             std::stop_token stop) override {
        const std::string kubelet = options_.folder + "/kubelet.sock";
        FileId registered_with;
        Servers servers;
        std::string said;  // the last reported error: kubelet is tried again each second, and can
                           // refuse for hours
        while (!stop.stop_requested()) {
            const FileId now = file_id(kubelet);
            const auto lists = objects();
            if (now != FileId{} && !lists.empty() &&
                (now != registered_with || !all_alive(servers, lists.size()))) {
                const auto done = restart(servers, lists, handler, kubelet);
                if (done) {
                    registered_with = now;
                    said.clear();
                    registered();
                } else if (std::exchange(said, done.error().text) != done.error().text) {
                    log_event(Event::plugin_error, {{"reason", done.error().text}});
                }
            }
            pause_for(options_.watch_period, stop);
        }
    }

  private:
    using Servers = std::vector<std::unique_ptr<Server>>;
    using Lists = std::vector<std::pair<std::string, DeviceList*>>;

    // Lists never move once they exist: the resources do not change.
    Lists objects() {
        const MutexLock lock(mutex_);
        Lists out;
        for (auto& [resource, list] : lists_)
            out.emplace_back(resource, &list);
        return out;
    }

    static bool all_alive(const Servers& servers, std::size_t wanted) {
        return servers.size() == wanted &&
               std::ranges::all_of(servers, [](const auto& server) { return server->alive(); });
    }

    // Takes seconds if kubelet is slow. It holds no lock, so that set_lists never waits for it.
    Result<> restart(Servers& servers, const Lists& lists, DevicePluginHandler& handler,
                     const std::string& kubelet) const {
        servers.clear();
        for (const auto& [resource, list] : lists) {
            auto server = std::make_unique<Server>(options_, resource, handler, *list);
            TRY_VOID(server->start(kubelet));
            servers.push_back(std::move(server));
        }
        return {};
    }

    const DevicePluginOptions options_;
    Mutex mutex_;
    std::map<std::string, DeviceList> lists_ TESSERA_GUARDED_BY(mutex_);  // each has its own mutex
};

}  // namespace

std::unique_ptr<DevicePluginHost> make_device_plugin_host(DevicePluginOptions options) {
    return std::make_unique<Host>(std::move(options));
}

}  // namespace tessera

#include "adapters/nri/nri_plugin.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "adapters/nri/ttrpc.hpp"
#include "adapters/os/pause.hpp"
#include "adapters/os/unix_socket.hpp"
#include "nri/nri.pb.h"
#include "nri/ttrpc.pb.h"

namespace tessera {
namespace {

namespace nri = ::nri::pkg::api::v1alpha1;

constexpr const char* kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr int kCreateContainer = 4;  // NRI's Event enum
constexpr int kStartContainer = 6;
constexpr std::int32_t kEvents = 1 << (kCreateContainer - 1) | 1 << (kStartContainer - 1);
constexpr std::uint32_t kFirstStream = 1;
// The runtime holds its lock while it waits for us: one that reads nothing for this time is stuck.
constexpr std::chrono::seconds kWriteDeadline{5};
constexpr int kUnknown = 2;  // gRPC status codes
constexpr int kUnimplemented = 12;

// "rro" is read-only, with all mounts below it (Linux 5.12).
bool is_read_only(std::string_view option) {
    return option == "ro" || option == "rro";
}

// For a privileged container the runtime opens every device, by a rule without type and numbers.
bool opens_every_device(const nri::LinuxContainer& linux) {
    bool is_open = false;
    for (const nri::LinuxDeviceCgroup& rule : linux.resources().devices()) {
        const bool is_for_all =
            (rule.type().empty() || rule.type() == "a") && !rule.has_major() && !rule.has_minor();
        if (is_for_all) is_open = rule.allow();
    }
    return is_open;
}

RuntimeContainer to_container(const nri::PodSandbox& pod, const nri::Container& container) {
    RuntimeContainer out;
    out.id = container.id();
    out.name = container.name();
    out.running =
        container.state() == nri::CONTAINER_RUNNING || container.state() == nri::CONTAINER_CREATED;
    out.env.assign(container.env().begin(), container.env().end());
    out.pod_uid = PodUid(pod.uid());
    out.pod = {pod.namespace_(), pod.name()};
    out.pod_annotations.insert(pod.annotations().begin(), pod.annotations().end());
    out.setup.name = container.name();
    out.setup.runtime_handler = pod.runtime_handler();
    for (const nri::Mount& mount : container.mounts()) {
        out.setup.mounts.push_back(
            {.destination = mount.destination(),
             .source = mount.source(),
             .read_only = std::ranges::any_of(mount.options(), is_read_only)});
    }
    for (const nri::LinuxDevice& device : container.linux().devices())
        out.setup.devices.push_back(device.path());
    out.setup.is_privileged = opens_every_device(container.linux());
    out.pid = container.pid();
    out.cgroup_path = container.linux().cgroups_path();
    if (container.has_user()) out.user_id = container.user().uid();
    return out;
}

// One connection, from registration to its end. Used by one thread.
class Session {
  public:
    Session(UnixSocket socket, const NriOptions& options, ContainerHandler& handler)
        : socket_(std::move(socket)), options_(options), handler_(handler) {}

    // Returns the reason for the end.
    Error serve(const std::stop_token& stop) {
        if (auto sent = register_plugin(); !sent) return sent.error();
        std::array<char, 65536> buffer{};
        while (!stop.stop_requested()) {
            const auto got = socket_.read(buffer, std::chrono::milliseconds(250));
            if (!got) return got.error();
            if (*got == 0) continue;
            auto messages = decoder_.append({buffer.data(), *got});
            if (!messages) return messages.error();
            for (const TtrpcMessage& message : *messages) {
                if (auto done = take(message); !done) return done.error();
            }
        }
        return {Code::unavailable, "stopping"};
    }

  private:
    Result<> take(const TtrpcMessage& message) {
        if (message.connection == kRuntimeConnection) return take_response(message);
        if (message.type != kTtrpcRequest) return {};
        ttrpc::Request request;
        if (!request.ParseFromString(message.payload)) {
            return fail(Code::invalid_argument, "NRI: a request that is no protobuf");
        }
        std::string payload;
        const auto answered = answer(request.method(), request.payload(), payload);
        ttrpc::Response response;
        if (answered) {
            response.set_payload(payload);
        } else {
            const bool unknown = answered.error().code == Code::unsupported;
            response.mutable_status()->set_code(unknown ? kUnimplemented : kUnknown);
            response.mutable_status()->set_message(answered.error().text);
        }
        return send(
            {kPluginConnection, message.stream, kTtrpcResponse, response.SerializeAsString()});
    }

    // The runtime's answer to RegisterPlugin, our only request. Only a refusal matters.
    static Result<> take_response(const TtrpcMessage& message) {
        ttrpc::Response response;
        if (!response.ParseFromString(message.payload)) {
            return fail(Code::invalid_argument, "NRI: an answer that is no protobuf");
        }
        if (response.status().code() == 0) return {};
        return fail(Code::unavailable,
                    "NRI: the runtime refuses us: " + response.status().message());
    }

    Result<> answer(const std::string& method, const std::string& payload, std::string& out) {
        if (method == "Configure") return configure(payload, out);
        if (method == "Synchronize") return synchronize(payload, out);
        if (method == "CreateContainer") return create(payload, out);
        if (method == "StartContainer") return start(payload);
        if (method == "StateChange") return state_change(payload);
        if (method == "Shutdown") return {};
        return fail(Code::unsupported, "NRI: " + method + " was not asked for");
    }

    Result<> configure(const std::string& payload, std::string& out) {
        nri::ConfigureRequest request;
        if (!request.ParseFromString(payload)) return malformed();
        runtime_ = request.runtime_name() + " " + request.runtime_version();
        handler_.on_runtime({request.runtime_name(), request.runtime_version()});
        nri::ConfigureResponse response;
        response.set_events(kEvents);
        response.SerializeToString(&out);
        return {};
    }

    // May come in several parts; in the last one `more` is not set.
    Result<> synchronize(const std::string& payload, std::string& out) {
        nri::SynchronizeRequest request;
        if (!request.ParseFromString(payload)) return malformed();
        for (const nri::PodSandbox& pod : request.pods())
            pods_[pod.id()] = pod;
        for (const nri::Container& container : request.containers()) {
            const auto pod = pods_.find(container.pod_sandbox_id());
            if (pod != pods_.end()) known_.push_back(to_container(pod->second, container));
        }
        nri::SynchronizeResponse response;
        response.set_more(request.more());
        response.SerializeToString(&out);
        if (request.more()) return {};
        handler_.synchronize(known_);
        pods_.clear();
        known_.clear();
        handler_.on_link(true, runtime_);
        return {};
    }

    Result<> create(const std::string& payload, std::string& out) {
        nri::CreateContainerRequest request;
        if (!request.ParseFromString(payload)) return malformed();
        TRY(const ContainerEdits edits,
            handler_.on_create_container(to_container(request.pod(), request.container())));
        nri::CreateContainerResponse response;
        for (const auto& [name, value] : edits.env) {
            nri::KeyValue* variable = response.mutable_adjust()->add_env();
            variable->set_key(name);
            variable->set_value(value);
        }
        for (const FileMount& file : edits.mounts) {
            nri::Mount* mount = response.mutable_adjust()->add_mounts();
            mount->set_type("bind");
            mount->set_source(file.source);
            mount->set_destination(file.destination);
            for (const std::string& option : file.options())
                mount->add_options(option);
        }
        for (const std::string& device : edits.cdi_devices) {
            response.mutable_adjust()->add_cdi_devices()->set_name(device);
        }
        response.SerializeToString(&out);
        return {};
    }

    Result<> start(const std::string& payload) {
        nri::StartContainerRequest request;
        if (!request.ParseFromString(payload)) return malformed();
        return handler_.verify(to_container(request.pod(), request.container()));
    }

    // NRI before 0.12 has no separate call for a container that is about to start.
    Result<> state_change(const std::string& payload) {
        nri::StateChangeEvent event;
        if (!event.ParseFromString(payload)) return malformed();
        if (event.event() != kStartContainer) return {};
        return handler_.verify(to_container(event.pod(), event.container()));
    }

    // This is the only request that we send to the runtime. UpdateContainers must never be sent.
    // containerd takes two locks for it in another order than for its own calls to us, so that both
    // together deadlock it (containerd's issue 13733). No release carries out the evictions in it.
    Result<> register_plugin() {
        nri::RegisterPluginRequest hello;
        hello.set_plugin_name(options_.name);
        hello.set_plugin_idx(options_.index);
        ttrpc::Request request;
        request.set_service(kRuntimeService);
        request.set_method("RegisterPlugin");
        request.set_payload(hello.SerializeAsString());
        return send({kRuntimeConnection, kFirstStream, kTtrpcRequest, request.SerializeAsString()});
    }

    Result<> send(const TtrpcMessage& message) {
        return socket_.write(encode_ttrpc(message), kWriteDeadline);
    }

    static tl::unexpected<Error> malformed() {
        return fail(Code::invalid_argument, "NRI: a payload that is no protobuf");
    }

    UnixSocket socket_;
    const NriOptions& options_;
    ContainerHandler& handler_;
    TtrpcDecoder decoder_;
    std::string runtime_;
    std::map<std::string, nri::PodSandbox> pods_;
    std::vector<RuntimeContainer> known_;
};

}  // namespace

void NriPlugin::run(ContainerHandler& handler, std::stop_token stop) {
    std::string last_reason;
    while (!stop.stop_requested()) {
        auto socket = UnixSocket::connect(options_.socket);
        const bool connected = socket.has_value();
        const Error reason =
            connected ? Session(*std::move(socket), options_, handler).serve(stop) : socket.error();
        if (stop.stop_requested()) return;
        // Report a connection that was up, or a new reason; not the same failure again.
        if (connected || reason.text != last_reason) handler.on_link(false, reason.text);
        last_reason = reason.text;
        pause_for(options_.retry, stop);
    }
}

}  // namespace tessera

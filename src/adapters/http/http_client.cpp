#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "adapters/http/curl_options.hpp"
#include "adapters/http/http.hpp"
#include "adapters/http/http_connection.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr milliseconds kConnect{10'000};  // of a stream, which has no end time

bool is_read_only(const std::string& method) {
    return method == "GET" || method == "HEAD";
}

milliseconds left_until(SteadyTime end) {
    return std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
}

struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using Multi = std::unique_ptr<CURLM, MultiDeleter>;

// A connection, or a place for one. Used by one thread at a time. libcurl keeps the connection in
// the multi handle, and waits in it so that another thread can wake it up.
struct Line {
    Multi multi{curl_multi_init()};
    Easy easy{curl_easy_init()};
    std::array<char, CURL_ERROR_SIZE> error{};
    std::string certificate;  // of the client, that the connection was made with
};

// One request and its answer.
class Transfer {
  public:
    struct Limits {
        std::optional<SteadyTime> end;             // of the whole
        std::optional<std::chrono::seconds> idle;  // without a byte
    };
    enum class End { done, stopped, by_receiver, failed };

    // `on_data` receives the body of a 200; null: the body is kept.
    Transfer(const HttpEndpoint& endpoint, const HttpCredentials& credentials,
             const HttpRequest& request, const std::function<bool(std::string_view)>* on_data)
        : endpoint_(endpoint),
          credentials_(credentials),
          request_(request),
          on_data_(on_data),
          url_((endpoint.tls ? "https://" : "http://") +
               authority(server_name(endpoint), endpoint.port) + endpoint.path_prefix +
               request.path) {}

    // After `failed`, fault() says why.
    End run(Line& line, const Limits& limits, const std::stop_token& stop) {
        line_ = &line;
        set_options(limits);
        heard_at_ = std::chrono::steady_clock::now();
        const std::stop_callback wake(stop, [&line] { (void)curl_multi_wakeup(line.multi.get()); });
        curl_multi_add_handle(line.multi.get(), line.easy.get());
        const End end = wait(limits, stop);
        curl_multi_remove_handle(line.multi.get(), line.easy.get());
        return end;
    }
    [[nodiscard]] HttpResponse& response() { return response_; }
    [[nodiscard]] std::string fault() const;

  private:
    End wait(const Limits& limits, const std::stop_token& stop) {
        CURLM* multi = line_->multi.get();
        while (true) {
            if (stop.stop_requested()) return End::stopped;
            int running = 0;
            curl_multi_perform(multi, &running);
            if (running == 0) break;
            milliseconds pause{60'000};
            if (limits.idle) {
                pause = left_until(heard_at_ + *limits.idle);
                code_ = CURLE_OPERATION_TIMEDOUT;
                if (pause <= milliseconds(0)) return End::failed;
            }
            curl_multi_poll(multi, nullptr, 0, static_cast<int>(pause.count()), nullptr);
        }
        int left = 0;
        const CURLMsg* message = curl_multi_info_read(multi, &left);
        code_ = message == nullptr ? CURLE_FAILED_INIT : message->data.result;
        if (is_ended_by_receiver_) return End::by_receiver;
        if (code_ != CURLE_OK) return End::failed;
        response_.status = status();
        response_.retry_after_s = retry_after();
        return End::done;
    }

    [[nodiscard]] int status() const {
        long status = 0;
        curl_easy_getinfo(line_->easy.get(), CURLINFO_RESPONSE_CODE, &status);
        return static_cast<int>(status);
    }

    [[nodiscard]] int retry_after() const {
        curl_off_t seconds = 0;
        curl_easy_getinfo(line_->easy.get(), CURLINFO_RETRY_AFTER, &seconds);
        return static_cast<int>(std::clamp<curl_off_t>(seconds, 0, 1 << 30));
    }

    template <typename Value>
    void set(CURLoption option, Value value) {
        set_option(line_->easy.get(), option, value);
    }

    void set_options(const Limits& limits) {
        curl_easy_reset(line_->easy.get());
        line_->error[0] = '\0';
        set(CURLOPT_ERRORBUFFER, line_->error.data());
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_URL, url_.c_str());
        // Kubernetes' paths are sent as they are.
        set(CURLOPT_PATH_AS_IS, 1L);
        set(CURLOPT_USERAGENT, "tessera/" TESSERA_VERSION);
        set_message();
        set_server(line_->easy.get(), endpoint_, credentials_, connect_to_);
        set_callbacks();
        const auto whole =
            limits.end ? std::max(left_until(*limits.end), milliseconds(1)) : milliseconds(0);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(whole.count()));
        set(CURLOPT_CONNECTTIMEOUT_MS,
            static_cast<long>(limits.end ? whole.count() : kConnect.count()));
    }

    void set_message() {
        headers_.reset();
        append(headers_, "Host: " + authority(endpoint_.host, endpoint_.port));
        append(headers_, "Accept: " + request_.accept);
        append(headers_, "Expect:");  // otherwise a large body waits for a go-ahead
        append(headers_, request_.content_type.empty() ? "Content-Type:"
                                                       : "Content-Type: " + request_.content_type);
        if (!credentials_.authorization.empty())
            append(headers_, "Authorization: " + credentials_.authorization);
        set(CURLOPT_HTTPHEADER, headers_.get());
        if (request_.method == "GET") return;
        if (request_.method == "HEAD") return set(CURLOPT_NOBODY, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
        set(CURLOPT_POSTFIELDS, request_.body.c_str());
        set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    }

    void set_callbacks() {
        set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
        set(CURLOPT_WRITEDATA, this);
        set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
        set(CURLOPT_HEADERDATA, this);
        set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_connect);
        set(CURLOPT_OPENSOCKETDATA, this);
        set(CURLOPT_PREREQFUNCTION, &Transfer::on_send);
        set(CURLOPT_PREREQDATA, this);
    }

    static int on_send(void* user, char*, char*, int, int) noexcept {
        static_cast<Transfer*>(user)->is_sent_ = true;
        return CURL_PREREQFUNC_OK;
    }

    // libcurl sends a request again, over a new connection, if the old one was closed before an
    // answer came. A write that the server may have read must not be sent twice.
    static curl_socket_t on_connect(void* user, curlsocktype /*purpose*/,
                                    curl_sockaddr* address) noexcept {
        auto& self = *static_cast<Transfer*>(user);
        self.is_cut_off_ = self.is_sent_ && !is_read_only(self.request_.method);
        if (self.is_cut_off_) return CURL_SOCKET_BAD;
        // A program that this process starts must not inherit the connection.
        return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    }

    static std::size_t on_header(char*, std::size_t size, std::size_t count, void* user) noexcept {
        static_cast<Transfer*>(user)->heard_at_ = std::chrono::steady_clock::now();
        return size * count;
    }

    static std::size_t on_body(char* data, std::size_t size, std::size_t count,
                               void* user) noexcept {
        auto& self = *static_cast<Transfer*>(user);
        self.heard_at_ = std::chrono::steady_clock::now();
        const std::string_view part(data, size * count);
        self.response_.status = self.status();
        if (self.on_data_ == nullptr || self.response_.status != 200) {
            const std::size_t most = self.endpoint_.most_answer_bytes;
            self.is_too_large_ = most > 0 && self.response_.body.size() + part.size() > most;
            if (self.is_too_large_) return CURL_WRITEFUNC_ERROR;
            self.response_.body.append(part);
        } else if (!(*self.on_data_)(part)) {
            self.is_ended_by_receiver_ = true;
            return CURL_WRITEFUNC_ERROR;
        }
        return part.size();
    }

    const HttpEndpoint& endpoint_;
    const HttpCredentials& credentials_;
    const HttpRequest& request_;
    const std::function<bool(std::string_view)>* const on_data_;
    const std::string url_;
    Line* line_ = nullptr;
    List headers_;
    List connect_to_;
    HttpResponse response_{.status = 0};
    SteadyTime heard_at_;
    bool is_sent_ = false;
    bool is_cut_off_ = false;  // the connection was closed after a write was sent
    bool is_ended_by_receiver_ = false;
    bool is_too_large_ = false;
    CURLcode code_ = CURLE_OK;
};

std::string Transfer::fault() const {
    constexpr const char* kClosed = "closed by the peer";
    if (is_cut_off_) return kClosed;
    if (is_too_large_) return "its answer is too large";
    std::string text = line_->error[0] != '\0' ? line_->error.data() : curl_easy_strerror(code_);
    switch (code_) {
        case CURLE_OPERATION_TIMEDOUT:
            return "it takes too long";
        case CURLE_PEER_FAILED_VERIFICATION:
            return "its certificate is not good: " + text;
        case CURLE_SSL_CONNECT_ERROR:
            return "no TLS with it: " + text;
        case CURLE_COULDNT_CONNECT: {
            long error = 0;
            curl_easy_getinfo(line_->easy.get(), CURLINFO_OS_ERRNO, &error);
            return error == 0 ? text : std::strerror(static_cast<int>(error));
        }
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
        case CURLE_RECV_ERROR:
        case CURLE_SEND_ERROR:
            return kClosed;
        default:
            return text;
    }
}

}  // namespace

class HttpClient::Impl {
  public:
    explicit Impl(HttpEndpoint endpoint)
        : endpoint_(std::move(endpoint)), usable_(check_credentials(endpoint_)) {
        start_library();
    }

    [[nodiscard]] const HttpEndpoint& endpoint() const { return endpoint_; }

    Result<HttpResponse> send(const HttpRequest& request, milliseconds deadline,
                              const std::stop_token& stop) {
        const SteadyTime end = std::chrono::steady_clock::now() + deadline;
        TRY(const HttpCredentials credentials, this->credentials());
        std::unique_ptr<Line> line = take_line(credentials.client_cert_pem);
        Transfer transfer(endpoint_, credentials, request, nullptr);
        switch (transfer.run(*line, {.end = end, .idle = {}}, stop)) {
            case Transfer::End::done:
            case Transfer::End::by_receiver:
                break;
            case Transfer::End::stopped:
                return no_answer("stopped");
            case Transfer::End::failed:
                return no_answer(transfer.fault());
        }
        give_back(std::move(line));
        check_refusal(transfer.response().status, credentials);
        return std::move(transfer.response());
    }

    Result<HttpResponse> stream(const std::string& path,
                                const std::function<bool(std::string_view)>& on_data,
                                std::chrono::seconds idle, const std::stop_token& stop) {
        TRY(const HttpCredentials credentials, this->credentials());
        const HttpRequest request{.method = "GET", .path = path};
        Line line;
        Transfer transfer(endpoint_, credentials, request, &on_data);
        const auto end = transfer.run(line, {.end = {}, .idle = idle}, stop);
        if (end == Transfer::End::failed) return no_answer(transfer.fault());
        check_refusal(transfer.response().status, credentials);
        return std::move(transfer.response());
    }

    Result<std::unique_ptr<HttpConnection>> connect(milliseconds deadline) {
        TRY(HttpCredentials credentials, this->credentials());
        return HttpConnection::open(endpoint_, std::move(credentials), deadline);
    }

  private:
    [[nodiscard]] tl::unexpected<Error> no_answer(std::string_view reason) const {
        return fail(Code::unavailable,
                    fmt::format("{} does not answer: {}", origin(endpoint_), reason));
    }

    [[nodiscard]] Result<HttpCredentials> credentials() const {
        TRY_VOID(usable_);
        HttpCredentials out;
        if (endpoint_.credentials) {
            TRY(out, endpoint_.credentials->get());
        }
        if (out.client_cert_pem.empty()) {
            out.client_cert_pem = endpoint_.client_cert_pem;
            out.client_key_pem = endpoint_.client_key_pem;
        }
        return out;
    }

    void check_refusal(int status, const HttpCredentials& credentials) const {
        if (status == 401 && endpoint_.credentials) endpoint_.credentials->refused(credentials);
    }

    // The server knows a connection by the certificate that it was made with.
    std::unique_ptr<Line> take_line(const std::string& certificate) {
        std::vector<std::unique_ptr<Line>> old;  // closed without the lock
        const MutexLock lock(mutex_);
        while (!idle_.empty()) {
            std::unique_ptr<Line> line = std::move(idle_.back());
            idle_.pop_back();
            if (line->certificate == certificate) return line;
            old.push_back(std::move(line));
        }
        auto line = std::make_unique<Line>();
        line->certificate = certificate;
        return line;
    }

    void give_back(std::unique_ptr<Line> line) {
        const MutexLock lock(mutex_);
        if (idle_.size() < kMaxIdle) idle_.push_back(std::move(line));
    }

    static constexpr std::size_t kMaxIdle = 128;

    const HttpEndpoint endpoint_;
    const Result<> usable_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Line>> idle_ TESSERA_GUARDED_BY(mutex_);
};

HttpClient::HttpClient(HttpEndpoint endpoint)
    : impl_(std::make_unique<Impl>(std::move(endpoint))) {}
HttpClient::~HttpClient() = default;

const HttpEndpoint& HttpClient::endpoint() const {
    return impl_->endpoint();
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request, milliseconds deadline,
                                      const std::stop_token& stop) {
    return impl_->send(request, deadline, stop);
}

Result<HttpResponse> HttpClient::stream(const std::string& path,
                                        const std::function<bool(std::string_view)>& on_data,
                                        std::chrono::seconds idle, const std::stop_token& stop) {
    return impl_->stream(path, on_data, idle, stop);
}

Result<std::unique_ptr<HttpConnection>> HttpClient::connect(std::chrono::milliseconds deadline) {
    return impl_->connect(deadline);
}

}  // namespace tessera

#include "adapters/kubeconfig/credential_sources.hpp"

#include <chrono>
#include <utility>

#include "adapters/os/text_file.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

class FixedAuthorization final : public HttpCredentialSource {
  public:
    explicit FixedAuthorization(std::string authorization)
        : authorization_(std::move(authorization)) {}

    Result<HttpCredentials> get() override {
        return HttpCredentials{.authorization = authorization_};
    }

  private:
    const std::string authorization_;
};

class TokenFile final : public HttpCredentialSource {
  public:
    explicit TokenFile(std::string path) : path_(std::move(path)) {}

    Result<HttpCredentials> get() override {
        const MutexLock lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (token_.empty() || now - read_at_ > std::chrono::minutes(1)) {
            const auto text = read_text_file(path_);
            if (text) token_ = text->substr(0, text->find_last_not_of(" \r\n") + 1);
            if (!text && token_.empty()) return fail(text.error().in("tokenFile"));
            read_at_ = now;
        }
        return HttpCredentials{.authorization = "Bearer " + token_};
    }

  private:
    const std::string path_;
    Mutex mutex_;
    std::string token_ TESSERA_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point read_at_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<HttpCredentialSource> fixed_authorization(std::string authorization) {
    return std::make_shared<FixedAuthorization>(std::move(authorization));
}

std::shared_ptr<HttpCredentialSource> token_from_file(std::string path) {
    return std::make_shared<TokenFile>(std::move(path));
}

}  // namespace tessera

#include "adapters/kube/kube_pages.hpp"

#include <fmt/format.h>

#include <chrono>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube_objects.hpp"

namespace tessera {
namespace {

// Of a page of a list, megabytes of it.
constexpr std::chrono::milliseconds kPage{30'000};

}  // namespace

Result<> each_item(const FetchPage& fetch, const std::string& path, const ReadItem& read) {
    const char sign = path.find('?') == std::string::npos ? '?' : '&';
    std::string next;
    do {
        std::string page_path = fmt::format("{}{}limit=500", path, sign);
        if (!next.empty()) page_path += "&continue=" + next;
        TRY(const auto document, fetch(page_path));
        TRY(const ListPage page, read_list(document));
        for (const JsonValue item : page.items)
            read(item);
        next = page.next;
    } while (!next.empty());
    return {};
}

Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const ReadItem& read) {
    const auto fetch = [&](const std::string& page) -> Result<JsonDocument> {
        const auto body = kube_call(http, {.method = "GET", .path = page}, kPage);
        if (!body && body.error().code == Code::permission_denied) {
            return fail(Code::permission_denied,
                        fmt::format("{}; you need the right to {}", body.error().text, right));
        }
        if (!body) return fail(body.error());
        return JsonDocument::parse(*body);
    };
    return each_item(fetch, path, read);
}

}  // namespace tessera

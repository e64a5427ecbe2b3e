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

Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const std::function<void(JsonValue item)>& read) {
    std::string next;
    do {
        std::string page_path = path + "?limit=500";
        if (!next.empty()) page_path += "&continue=" + next;
        const auto body = kube_call(http, {.method = "GET", .path = page_path}, kPage);
        if (!body && body.error().code == Code::permission_denied) {
            return fail(Code::permission_denied,
                        fmt::format("{}; you need the right to {}", body.error().text, right));
        }
        if (!body) return fail(body.error());
        TRY(const auto document, JsonDocument::parse(*body));
        TRY(const ListPage page, read_list(document));
        for (const JsonValue item : page.items)
            read(item);
        next = page.next;
    } while (!next.empty());
    return {};
}

}  // namespace tessera

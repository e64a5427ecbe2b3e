#include "adapters/kube/kube_pages.hpp"

#include <fmt/format.h>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
std::string with_query(const std::string& path, std::string_view parameter) {
    return path + (path.find('?') == std::string::npos ? "?" : "&") + std::string(parameter);
}

Result<std::string> each_item(const FetchPage& fetch, const std::string& path,
                              const ReadItem& read) {
    std::string next;
    while (true) {
        std::string query = "limit=500";
        if (!next.empty()) query += "&continue=" + next;
        TRY(const auto document, fetch(with_query(path, query)));
        TRY(const ListPage page, read_list(document));
        for (const JsonValue item : page.items)
            read(item);
        next = page.next;
        if (next.empty()) return page.resource_version;
    }
}

Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const ReadItem& read) {
    const auto fetch = [&](const std::string& page) -> Result<JsonDocument> {
        const auto body = kube_call(http, {.method = "GET", .path = page}, kPageDeadline);
        if (!body && body.error().code == Code::permission_denied) {
            return fail(Code::permission_denied,
                        fmt::format("{}; you need the right to {}", body.error().text, right));
        }
        if (!body) return fail(body.error());
        return JsonDocument::parse(*body);
    };
    TRY_VOID(each_item(fetch, path, read));
    return {};
}

Result<> each_node_and_pod(HttpClient& http, const ReadItem& read_node, const ReadItem& read_pod) {
    TRY_VOID(each_item(http, "/api/v1/nodes", "list nodes", read_node));
    return each_item(http, "/api/v1/pods", "list pods", read_pod);
}

}  // namespace tessera
